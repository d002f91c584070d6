import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";

const ASK_AGAIN_MS = 700;

/** The unchanged replay beside a diff: its price, and how far it is; asked for again while it runs. */
export const controlReplayQuery = (diff: string) =>
  queryOptions({
    queryKey: ["diff", diff, "unchanged"],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/diffs/{id}/unchanged", { params: { path: { id: diff } }, signal })),
    staleTime: 0,
    refetchInterval: (query) => {
      const { data } = query.state;
      const isAborted = data?.session?.ended_at != null && !data.session.status.startsWith("completed");
      return data?.session && !data.attached && !isAborted ? ASK_AGAIN_MS : false;
    },
  });

/** Starts the unchanged replay, or finds it. */
export function startControlReplay(diff: string) {
  return answer(api.POST("/api/v1/diffs/{id}/unchanged", { params: { path: { id: diff } }, body: { policy: null } }));
}
