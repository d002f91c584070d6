import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { ReplayBody } from "@/api/schema";

/** A request that leaves out what stays as recorded; the schema lists every field with its default. */
export type SparseRequest = { [Name in keyof ReplayBody]?: unknown } & { run: string };

function body(request: SparseRequest): ReplayBody {
  return request as unknown as ReplayBody;
}

/** What a replay would do. Nothing runs. Steps that stay as they are recorded are counted, and not listed. */
export const planQuery = (request: SparseRequest) =>
  queryOptions({
    queryKey: ["plan", request],
    queryFn: ({ signal }) =>
      answer(
        api.POST("/api/v1/replays/preview", { params: { query: { untouched: false } }, body: body(request), signal }),
      ),
    placeholderData: keepPreviousData,
    gcTime: 60_000,
    retry: false,
  });

/** Starts a replay; the key makes a repeated click one session. */
export function launch(request: SparseRequest, key: string) {
  return answer(api.POST("/api/v1/replays", { body: body(request), headers: { "Idempotency-Key": key } }));
}

export const providersQuery = queryOptions({
  queryKey: ["providers"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/providers", { signal })),
});
