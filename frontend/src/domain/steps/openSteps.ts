// Steps of a run that is still being recorded.
import type { RunDetail, StepSummary } from "@/api/schema";

/** The steps of a run, with those that have not ended as running: until a recording ends, they look like incomplete ones. */
export function withOpenSteps({ status }: Pick<RunDetail, "status">, steps: StepSummary[]): StepSummary[] {
  if (status !== "running") return steps;
  return steps.map((step) =>
    step.status === "partial" && step.duration_ms === null ? { ...step, status: "running" } : step,
  );
}
