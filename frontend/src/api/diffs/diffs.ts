import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { DiffPending, DiffReport, DiffRequest, ShareRequest } from "@/api/schema";

/** A report, or a notice that a worker is still computing it. */
export type DiffResponse = DiffReport | DiffPending;

export function isReport(response: DiffResponse | undefined): response is DiffReport {
  return response !== undefined && "schema_version" in response;
}

/** Narrow the response to JSON. The same address can also return text, which this client never requests. */
async function requireJson<T extends DiffResponse>(call: Promise<T | string>): Promise<T> {
  const response = await call;
  if (typeof response === "string") throw new TypeError("The server answered with text instead of JSON.");
  return response;
}

/** Polling interval of an unfinished report. */
const POLL_MS = 700;

export const diffsQuery = queryOptions({
  queryKey: ["diffs"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/diffs", { signal })),
  staleTime: 5_000,
});

/** A finished report never changes. An unfinished one is polled. */
export const diffQuery = (diff: string) =>
  queryOptions({
    queryKey: ["diff", diff],
    queryFn: ({ signal }) =>
      requireJson(answer(api.GET("/api/v1/diffs/{id}", { params: { path: { id: diff } }, signal }))),
    staleTime: Infinity,
    refetchInterval: (query) => (query.state.data && !isReport(query.state.data) ? POLL_MS : false),
  });

export const sharedDiffQuery = (token: string) =>
  queryOptions({
    queryKey: ["share", token],
    queryFn: ({ signal }) =>
      requireJson(answer(api.GET("/api/v1/share/{token}", { params: { path: { token } }, signal }))),
    staleTime: Infinity,
    retry: false,
  });

export const sharesQuery = (diff: string) =>
  queryOptions({
    queryKey: ["diff", diff, "shares"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/diffs/{id}/shares", { params: { path: { id: diff } }, signal })),
    staleTime: 0,
  });

/** Idempotent: the same comparison returns the same report. */
export function compare(body: DiffRequest) {
  return requireJson(answer(api.POST("/api/v1/diffs", { body })));
}

export function share(diff: string, body: ShareRequest) {
  return answer(api.POST("/api/v1/diffs/{id}/shares", { params: { path: { id: diff } }, body }));
}

export async function revoke(share: string): Promise<void> {
  await api.DELETE("/api/v1/shares/{id}", { params: { path: { id: share } } });
}
