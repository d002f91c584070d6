import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import type { OutcomeRuleRequest } from "./schema";

/** The outcome rule of an app. Polled while it is applied to stored runs. */
export const outcomeRuleQuery = (app: string) =>
  queryOptions({
    queryKey: ["outcome rule", app],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/outcome-rules/{app}", { params: { path: { app } }, signal })),
    refetchInterval: (query) => (query.state.data?.is_applied === false ? 1000 : false),
  });

export function saveOutcomeRule(app: string, body: OutcomeRuleRequest) {
  return answer(api.PUT("/api/v1/outcome-rules/{app}", { params: { path: { app } }, body }));
}

/** The names under which the runs of an app are judged. An empty app means all. */
export const judgementNamesQuery = (app = "") =>
  queryOptions({
    queryKey: ["judgement names", app],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/judgement-names", { params: { query: { app } }, signal })),
    staleTime: 30_000,
  });
