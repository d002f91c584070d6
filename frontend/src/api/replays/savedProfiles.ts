import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { SaveProfile, SavePolicy } from "@/api/schema";

/** Named override profiles. */
export const profilesQuery = queryOptions({
  queryKey: ["profiles"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/profiles", { signal })),
  staleTime: 5_000,
});

/** Named policies. */
export const policiesQuery = queryOptions({
  queryKey: ["policies"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/policies", { signal })),
  staleTime: 5_000,
});

export function saveProfile(body: SaveProfile) {
  return answer(api.POST("/api/v1/profiles", { body }));
}

export function savePolicy(body: SavePolicy) {
  return answer(api.POST("/api/v1/policies", { body }));
}
