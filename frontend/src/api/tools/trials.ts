import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { RetrieverTrialRequest, ToolTrialRequest, TrialView } from "@/api/schema";

/** Short enough that a fast answer feels immediate. */
const POLL_MS = 300;

export const retrieversQuery = queryOptions({
  queryKey: ["retrievers"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/retrievers", { signal })),
  // Retrievers change only when the server restarts.
  staleTime: 60_000,
});

/** The newest trials of one tool or retriever. */
export const trialsQuery = (kind: TrialView["kind"], name: string) =>
  queryOptions({
    queryKey: ["trials", kind, name],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/trials", { params: { query: { kind, name } }, signal })),
    refetchInterval: ({ state }) => (state.data?.trials.some(isUnderWay) ? POLL_MS : false),
  });

/** A trial, polled until it ends. */
export const trialQuery = (id: string) =>
  queryOptions({
    queryKey: ["trial", id],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/trials/{id}", { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (state.data && !isUnderWay(state.data) ? false : POLL_MS),
  });

export function isUnderWay({ status }: Pick<TrialView, "status">): boolean {
  return status === "pending" || status === "running";
}

export function tryTool(body: Partial<ToolTrialRequest> & { name: string }) {
  return answer(api.POST("/api/v1/tools/trials", { body: { arguments: {}, confirmed: false, ...body } }));
}

export function tryRetriever(body: RetrieverTrialRequest) {
  return answer(api.POST("/api/v1/retrievers/trials", { body }));
}
