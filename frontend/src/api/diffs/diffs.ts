import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { DiffPending, DiffReport, DiffRequest } from "@/api/schema";

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

/** A finished report never changes. An unfinished one is polled. */
export const diffQuery = (diff: string) =>
  queryOptions({
    queryKey: ["diff", diff],
    queryFn: ({ signal }) =>
      requireJson(answer(api.GET("/api/v1/diffs/{id}", { params: { path: { id: diff } }, signal }))),
    staleTime: Infinity,
    refetchInterval: (query) => (query.state.data && !isReport(query.state.data) ? POLL_MS : false),
  });

/** Idempotent: the same comparison returns the same report. */
export function compare(body: DiffRequest) {
  return requireJson(answer(api.POST("/api/v1/diffs", { body })));
}
