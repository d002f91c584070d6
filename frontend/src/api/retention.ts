import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import type { DeletionRequest, MarkRequest, PatchedRenameRequest, RetentionTerms, TagChange } from "./schema";

export const retentionQuery = queryOptions({
  queryKey: ["retention", "policies"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/retention/policies", { signal })),
});

/** What a purge under these policies would delete now. */
export const purgePlanQuery = (policies: RetentionTerms[]) =>
  queryOptions({
    queryKey: ["retention", "plan", policies],
    queryFn: ({ signal }) => answer(api.POST("/api/v1/retention/plan", { body: { policies }, signal })),
    staleTime: 0,
  });

export const auditQuery = infiniteQueryOptions({
  queryKey: ["retention", "audit"],
  queryFn: ({ pageParam, signal }) => {
    const query = pageParam ? { cursor: pageParam } : {};
    return answer(api.GET("/api/v1/audit", { params: { query }, signal }));
  },
  initialPageParam: "",
  getNextPageParam: ({ next }) => next,
  staleTime: 0,
});

export function saveRetentionPolicy(body: RetentionTerms) {
  return answer(api.PUT("/api/v1/retention/policies", { body }));
}

export async function removeRetentionPolicy({ app, tag }: { app: string; tag: string }): Promise<void> {
  await api.DELETE("/api/v1/retention/policies", { params: { query: { app, tag } } });
}

export function purge() {
  return answer(api.POST("/api/v1/retention/purge"));
}

/** Change the marks of a run that `change` names. */
export function markRun(run: string, change: Partial<MarkRequest>) {
  const body = { is_pinned: null, is_held: null, ...change };
  return answer(api.PUT("/api/v1/runs/{id}/mark", { params: { path: { id: run } }, body }));
}

/** Change the name and the note that users gave a run. */
export function renameRun(run: string, body: PatchedRenameRequest) {
  return answer(api.PATCH("/api/v1/runs/{id}", { params: { path: { id: run } }, body }));
}

/** Add tags to runs and remove tags from them. The answer has the changes that undo it. */
export function tagRuns(changes: TagChange[]) {
  return answer(api.POST("/api/v1/runs/tags", { body: { changes } }));
}

/** Delete runs. The answer names those that were refused, and why. */
export function deleteRuns(body: DeletionRequest) {
  return answer(api.POST("/api/v1/runs/delete", { body }));
}

export function restoreRun(run: string) {
  return answer(api.POST("/api/v1/runs/{id}/restore", { params: { path: { id: run } } }));
}

/** Who deleted a run and when; an error if it is not deleted. */
export const deletionQuery = (run: string) =>
  queryOptions({
    queryKey: ["run", run, "deletion"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/runs/{id}/deletion", { params: { path: { id: run } }, signal })),
    retry: false,
    staleTime: 0,
  });
