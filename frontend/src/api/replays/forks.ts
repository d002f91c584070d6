import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { ReplayBody } from "@/api/schema";
import { consentPoll } from "./runners";

/** A request without the fields that stay as recorded. The schema lists every field with its default. */
export type SparseRequest = { [Name in keyof ReplayBody]?: unknown } & { run: string };

function body(request: SparseRequest): ReplayBody {
  return request as unknown as ReplayBody;
}

/** Preview a replay without running it. Untouched steps are counted but not listed. */
export const planQuery = (request: SparseRequest) =>
  queryOptions({
    queryKey: ["plan", request],
    queryFn: ({ signal }) =>
      answer(
        api.POST("/api/v1/replays/preview", { params: { query: { untouched: false } }, body: body(request), signal }),
      ),
    placeholderData: keepPreviousData,
    gcTime: 60_000,
    refetchInterval: consentPoll,
    retry: false,
  });

/** Start a replay. A repeated click sends the same key and starts no second session. */
export function launch(request: SparseRequest, key: string) {
  return answer(api.POST("/api/v1/replays", { body: body(request), headers: { "Idempotency-Key": key } }));
}

export const providersQuery = queryOptions({
  queryKey: ["providers"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/providers", { signal })),
});
