import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { BisectPreview, BisectRequest } from "@/api/schema";
import { consentPoll, needsRunner, RUNNER_POLL_MS } from "./runners";

/** The subject of a bisection: a run, or the run of a diff that fails the checks. */
export type BisectionSubject = { run: string } | { diff: string };

/** A request without the fields that have defaults. */
export type SparseBisection = { [Name in keyof BisectRequest]?: unknown } & { checks: object[] };

export const bisectionQuery = (id: string) =>
  queryOptions({
    queryKey: ["bisection", id],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/bisections/{id}", { params: { path: { id } }, signal })),
    staleTime: 0,
    refetchInterval: (query) => (query.state.data && needsRunner(query.state.data) ? RUNNER_POLL_MS : false),
  });

export const bisectionsOfRunQuery = (run: string) =>
  queryOptions({
    queryKey: ["bisections", run],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/bisections", { params: { query: { run } }, signal })),
    staleTime: 2_000,
  });

/** Preview what a bisection would do and cost, without running it. */
export const bisectionPlanQuery = (subject: BisectionSubject, request: SparseBisection) =>
  queryOptions({
    queryKey: ["bisection plan", subject, request],
    queryFn: ({ signal }) =>
      answer(
        api.POST("/api/v1/bisections/preview", {
          body: { ...request, ...subject } as unknown as BisectPreview,
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    gcTime: 60_000,
    refetchInterval: consentPoll,
    retry: false,
  });

/** Start a bisection. A repeated click sends the same key and starts no second bisection. */
export function startBisection(subject: BisectionSubject, request: SparseBisection, key: string) {
  const body = request as unknown as BisectRequest;
  const headers = { "Idempotency-Key": key };
  return "run" in subject
    ? answer(api.POST("/api/v1/runs/{id}/bisect", { params: { path: { id: subject.run } }, body, headers }))
    : answer(api.POST("/api/v1/diffs/{id}/bisect", { params: { path: { id: subject.diff } }, body, headers }));
}

export function cancelBisection(id: string) {
  return answer(api.POST("/api/v1/bisections/{id}/cancel", { params: { path: { id } } }));
}
