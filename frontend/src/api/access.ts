import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";

/** The caller's identity and role. The response also sets the CSRF cookie that writes need. */
export const accessQuery = queryOptions({
  queryKey: ["access"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/access", { signal })),
  staleTime: Infinity,
});

export function login(token: string) {
  return answer(api.POST("/api/v1/login", { body: { token } }));
}

export async function logout(): Promise<void> {
  await api.POST("/api/v1/logout");
}
