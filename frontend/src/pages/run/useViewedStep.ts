import { useEffect, useRef } from "react";
import type { StepSummary } from "@/api/schema";

/** The new number of a step that was in view under another one; null if it has not moved. */
export function movedTo(
  previous: { id: string; number: number } | null,
  steps: readonly StepSummary[],
  selectedNumber: number | null,
): number | null {
  if (previous === null || previous.number !== selectedNumber) return null;
  const step = steps.find(({ id }) => id === previous.id);
  return step && step.sequence_no !== selectedNumber ? step.sequence_no : null;
}

/** Keep the same step in view while a run is being recorded: steps that arrive before it change its number. */
export function useViewedStep(
  steps: readonly StepSummary[],
  selectedNumber: number | null,
  select: (sequenceNo: number) => void,
): void {
  const lastStep = useRef<{ id: string; number: number } | null>(null);
  useEffect(() => {
    const next = movedTo(lastStep.current, steps, selectedNumber);
    const number = next ?? selectedNumber;
    const step = steps.find(({ sequence_no }) => sequence_no === number);
    lastStep.current = step ? { id: step.id, number: step.sequence_no } : null;
    if (next !== null) select(next);
  }, [steps, selectedNumber, select]);
}
