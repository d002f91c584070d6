import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";

const LOADING_MS = 400;

/** The demo's failed run and the replay that fixes it. Read again while the server loads the demo. */
export const tourQuery = queryOptions({
  queryKey: ["tour"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/tour", { signal })),
  refetchInterval: ({ state }) => (state.data?.is_loading ? LOADING_MS : false),
});
