import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { OperatorAnswer, StepSummary } from "@/api/schema";

export const sessionQuery = (session: string) =>
  queryOptions({
    queryKey: ["replay", session],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/replays/{id}", { params: { path: { id: session } }, signal })),
    staleTime: 0,
  });

export function cancelSession(session: string) {
  return answer(api.POST("/api/v1/replays/{id}/cancel", { params: { path: { id: session } } }));
}

/** Read the steps after `after` up to and including `last`, page by page. */
export async function readSteps(run: string, after: number, last: number): Promise<StepSummary[]> {
  const steps: StepSummary[] = [];
  let cursor: number | null = after;
  while (cursor !== null && cursor < last) {
    const page: { steps: StepSummary[]; next: number | null } = await answer(
      api.GET("/api/v1/runs/{id}/steps", { params: { path: { id: run }, query: { after: String(cursor) } } }),
    );
    steps.push(...page.steps);
    cursor = page.next;
  }
  return steps;
}

export function answerSession(session: string, body: OperatorAnswer) {
  return answer(api.POST("/api/v1/replays/{id}/answer", { params: { path: { id: session } }, body }));
}
