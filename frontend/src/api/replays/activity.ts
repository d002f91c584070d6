import { infiniteQueryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { Activity } from "@/api/schema";

/** Replays, diffs, proofs, experiments, bisections and calibrations, newest first; of one kind or of all. */
export const activityQuery = (kind: Activity["kind"] | undefined) =>
  infiniteQueryOptions({
    queryKey: ["activity", kind ?? "all"],
    queryFn: ({ pageParam, signal }) => {
      const query = { ...(kind && { kind }), ...(pageParam && { cursor: pageParam }) };
      return answer(api.GET("/api/v1/activity", { params: { query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
    placeholderData: (previous) => previous,
  });
