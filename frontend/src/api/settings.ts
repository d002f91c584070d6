import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import type { Readiness, TokenRequest } from "./schema";

/** What the server was configured to be. Only its administrator may ask. */
export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/settings", { signal })),
});

export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/tokens", { signal })),
});

export function createToken(request: TokenRequest) {
  return answer(api.POST("/api/v1/tokens", { body: request }));
}

export async function revokeToken(id: string): Promise<void> {
  await api.DELETE("/api/v1/tokens/{id}", { params: { path: { id } } });
}

/** Whether what the server needs can be reached. */
export const readinessQuery = queryOptions({
  queryKey: ["ready"],
  // What cannot be reached is an answer too, with the status of a failure: the client would throw it.
  queryFn: async ({ signal }) => (await (await fetch("/api/v1/ready", { signal })).json()) as Readiness,
});
