import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { Activity, Outcome } from "@/api/schema";

export interface ActivityFilter {
  kind?: Activity["kind"] | undefined;
  state?: Activity["state"] | undefined;
  outcome?: Outcome | undefined;
  author?: string | undefined;
  q?: string | undefined;
  /** A time span until now, such as `24h`, or a day. */
  start?: string | undefined;
}

/** Replays, diffs, proofs, experiments, bisections and calibrations that pass a filter, newest first. */
export const activityQuery = (filter: ActivityFilter, toInstant: (start: string) => string | null) =>
  infiniteQueryOptions({
    queryKey: ["activity", filter],
    queryFn: ({ pageParam, signal }) => {
      const { start, ...rest } = filter;
      const instant = start === undefined ? null : toInstant(start);
      const query = { ...rest, ...(instant && { ["since"]: instant }), ...(pageParam && { cursor: pageParam }) };
      return answer(api.GET("/api/v1/activity", { params: { query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
    placeholderData: (previous) => previous,
  });

export const authorsQuery = queryOptions({
  queryKey: ["activity", "authors"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/activity/authors", { signal })),
});
