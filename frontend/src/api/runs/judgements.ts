import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { JudgementRequest } from "@/api/schema";

/** The judgements of a run and its steps, limited to one page. */
export const judgementsQuery = (run: string) =>
  queryOptions({
    queryKey: ["run", run, "judgements"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/runs/{id}/judgements", { params: { path: { id: run } }, signal })),
  });

export function judge(run: string, body: JudgementRequest) {
  return answer(api.POST("/api/v1/runs/{id}/judgements", { params: { path: { id: run } }, body }));
}

export async function withdraw(run: string, judgement: string): Promise<void> {
  await api.DELETE("/api/v1/runs/{id}/judgements/{judgement}", { params: { path: { id: run, judgement } } });
}
