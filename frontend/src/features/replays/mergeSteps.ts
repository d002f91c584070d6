import type { StepSummary } from "@/api/schema";

/** Replace steps by newly read ones with the same numbers, in order. */
export function mergeSteps(previous: readonly StepSummary[], newSteps: readonly StepSummary[]): StepSummary[] {
  const byNumber = new Map(previous.map((step) => [step.sequence_no, step]));
  for (const step of newSteps) byNumber.set(step.sequence_no, step);
  return [...byNumber.values()].sort((a, b) => a.sequence_no - b.sequence_no);
}
