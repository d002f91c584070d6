import { queryOptions } from "@tanstack/react-query";
import { answer, api, request } from "./client";
import type { Readiness, TokenRequest } from "./schema";

/** The server's configuration. Visible to administrators only. */
export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/settings", { signal })),
});

export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/tokens", { signal })),
});

export function createToken(body: TokenRequest) {
  return answer(api.POST("/api/v1/tokens", { body }));
}

export async function revokeToken(id: string): Promise<void> {
  await api.DELETE("/api/v1/tokens/{id}", { params: { path: { id } } });
}

/** Whether the server's dependencies are reachable. */
export const readinessQuery = queryOptions({
  queryKey: ["ready"],
  // An unreachable dependency answers with an error status that carries data, which the API client would throw.
  queryFn: async ({ signal }) => (await (await request("/api/v1/ready", { signal })).json()) as Readiness,
});
