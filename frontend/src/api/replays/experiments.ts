import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { ExperimentRequest } from "@/api/schema";
import { consentPoll, needsRunner, RUNNER_POLL_MS } from "./runners";

/** A request without the fields that have defaults. */
export type SparseExperiment = { [Name in keyof ExperimentRequest]?: unknown } & { run: string };

const body = (request: SparseExperiment) => request as unknown as ExperimentRequest;

export const experimentQuery = (id: string) =>
  queryOptions({
    queryKey: ["experiment", id],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/experiments/{id}", { params: { path: { id } }, signal })),
    staleTime: 0,
    refetchInterval: (query) => (query.state.data && needsRunner(query.state.data) ? RUNNER_POLL_MS : false),
  });

/** Preview what an experiment would do and cost, without running it. */
export const experimentPlanQuery = (request: SparseExperiment) =>
  queryOptions({
    queryKey: ["experiment plan", request],
    queryFn: ({ signal }) => answer(api.POST("/api/v1/experiments/preview", { body: body(request), signal })),
    placeholderData: keepPreviousData,
    gcTime: 60_000,
    refetchInterval: consentPoll,
    retry: false,
  });

/** Start an experiment. A repeated click sends the same key and starts no second experiment. */
export function startExperiment(request: SparseExperiment, key: string) {
  return answer(api.POST("/api/v1/experiments", { body: body(request), headers: { "Idempotency-Key": key } }));
}

export function cancelExperiment(id: string) {
  return answer(api.POST("/api/v1/experiments/{id}/cancel", { params: { path: { id } } }));
}
