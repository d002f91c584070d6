import type { ReactElement } from "react";
import type { BisectionSummary } from "@/api/schema";
import { StateChip, type ChipMark } from "@/features/labels/StateChip";

const STATES: Record<BisectionSummary["status"], { title: string; mark: ChipMark }> = {
  running: { title: "Searching", mark: "accent" },
  completed: { title: "Done", mark: "done" },
  cancelled: { title: "Cancelled", mark: "live" },
  failed: { title: "Failed", mark: "failed" },
};

/** The state of a bisection as a chip. */
export function BisectionState({ status }: Pick<BisectionSummary, "status">): ReactElement {
  const { title, mark } = STATES[status];
  return <StateChip mark={mark}>{title}</StateChip>;
}
