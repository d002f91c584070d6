import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";

const POLL_MS = 700;

/** The control replay of a diff: its cost and its progress. Polled while it runs. */
export const controlReplayQuery = (diff: string) =>
  queryOptions({
    queryKey: ["diff", diff, "unchanged"],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/diffs/{id}/unchanged", { params: { path: { id: diff } }, signal })),
    staleTime: 0,
    refetchInterval: (query) => {
      const { data } = query.state;
      const isAborted = data?.session?.ended_at != null && !data.session.status.startsWith("completed");
      return data?.session && !data.attached && !isAborted ? POLL_MS : false;
    },
  });

/** Start the control replay, or return the existing one. */
export function startControlReplay(diff: string) {
  return answer(api.POST("/api/v1/diffs/{id}/unchanged", { params: { path: { id: diff } }, body: { policy: null } }));
}
