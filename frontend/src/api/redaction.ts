import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import type { RedactionPolicyRequest, RedactionTrialRequest } from "./schema";

export const redactionQuery = queryOptions({
  queryKey: ["redaction"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/redaction-policies", { signal })),
});

export const redactionHistoryQuery = (app: string) =>
  queryOptions({
    queryKey: ["redaction", "history", app],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/redaction-policies/history", { params: { query: { app } }, signal })),
  });

export function saveRedactionPolicy(body: RedactionPolicyRequest) {
  return answer(api.PUT("/api/v1/redaction-policies", { body }));
}

export function tryRedactionPolicy(body: RedactionTrialRequest) {
  return answer(api.POST("/api/v1/redaction-policies/try", { body }));
}
