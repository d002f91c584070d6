import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { NewRunView, RunView } from "@/api/schema";

/** The named views of the runs list, which all users of the server share. */
export const runViewsQuery = queryOptions({
  queryKey: ["run views"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/run-views", { signal })),
});

export function createRunView(body: NewRunView) {
  return answer(api.POST("/api/v1/run-views", { body }));
}

export function renameRunView({ id }: RunView, name: string) {
  return answer(api.PATCH("/api/v1/run-views/{id}", { params: { path: { id } }, body: { name, query: null } }));
}

/** Store another query under the name of a view. */
export function updateRunView({ id }: RunView, query: string) {
  return answer(api.PATCH("/api/v1/run-views/{id}", { params: { path: { id } }, body: { name: null, query } }));
}

export async function deleteRunView({ id }: RunView): Promise<void> {
  await api.DELETE("/api/v1/run-views/{id}", { params: { path: { id } } });
}
