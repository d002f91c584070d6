import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";

/** The recorded run and all of its forks. Any run of the tree identifies it. */
export const treeQuery = (run: string) =>
  queryOptions({
    queryKey: ["tree", run],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/runs/{id}/tree", { params: { path: { id: run } }, signal })),
    staleTime: 2_000,
  });
