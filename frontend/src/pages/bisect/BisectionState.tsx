import type { ReactElement } from "react";
import type { BisectionSummary } from "@/api/schema";
import type { Mark } from "@/domain/steps/labels";
import { StateChip } from "@/features/labels/StateChip";

const STATES: Record<BisectionSummary["status"], { title: string; mark: Mark | "accent" }> = {
  running: { title: "Searching", mark: "accent" },
  completed: { title: "Done", mark: "exact" },
  cancelled: { title: "Cancelled", mark: "live" },
  failed: { title: "Failed", mark: "failed" },
};

/** The state of a bisection as a chip. */
export function BisectionState({ status }: Pick<BisectionSummary, "status">): ReactElement {
  const { title, mark } = STATES[status];
  return <StateChip mark={mark}>{title}</StateChip>;
}
