import type { ReactElement } from "react";
import type { ExperimentSummary } from "@/api/schema";
import { StateChip } from "@/features/labels/StateChip";

type ExperimentProgress = Pick<ExperimentSummary, "status" | "finished" | "rows" | "failed">;

/** The progress of an experiment as a chip. */
export function ExperimentState({ experiment }: { experiment: ExperimentProgress }): ReactElement {
  const { status, finished, rows, failed } = experiment;
  if (status === "running") {
    return (
      <StateChip mark="accent">
        {finished} of {rows} done
      </StateChip>
    );
  }
  if (status === "cancelled") return <StateChip mark="live">Cancelled</StateChip>;
  if (failed > 0) return <StateChip mark="failed">{failed === rows ? "Failed" : `Done, ${failed} failed`}</StateChip>;
  return <StateChip mark="done">Done</StateChip>;
}
