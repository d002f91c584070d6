import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";

/** Configured hooks and telemetry targets, with what was sent so far. */
export const hooksQuery = queryOptions({
  queryKey: ["hooks"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/hooks", { signal })),
  refetchInterval: 5_000,
});

/** Hook decisions of a session. `resolvedSteps` is part of the key, so progress triggers a refetch. */
export const outcomesQuery = (session: string, resolvedSteps: number) =>
  queryOptions({
    queryKey: ["replay", session, "hooks", resolvedSteps],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/replays/{id}/hooks", { params: { path: { id: session } }, signal })),
    placeholderData: (previous) => previous,
    staleTime: Infinity,
    gcTime: 0,
  });

/** Usage of a run. `steps` is part of the key, so a growing run triggers a refetch. */
export const usageQuery = (run: string, steps: number) =>
  queryOptions({
    queryKey: ["run", run, "usage", steps],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/runs/{id}/usage", { params: { path: { id: run } }, signal })),
    placeholderData: (previous) => previous,
    staleTime: Infinity,
    gcTime: 0,
  });

/** Exports of a run. Polled every second while one is in progress. */
export const exportsQuery = (run: string) =>
  queryOptions({
    queryKey: ["run", run, "exports"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/runs/{id}/exports", { params: { path: { id: run } }, signal })),
    refetchInterval: (query) =>
      query.state.data?.exports.some(({ status }) => status === "pending" || status === "running") ? 1000 : false,
  });

export function exportToLangfuse(run: string, target: string) {
  return answer(api.POST("/api/v1/runs/{id}/exports/langfuse", { params: { path: { id: run } }, body: { target } }));
}
