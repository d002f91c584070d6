import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { RunSummary } from "@/api/schema";
import { Notice } from "@/ui/Notice";

/** A notice that parts of the recording could not be read, or contradict the others. */
export function RecordingProblem({ run }: { run: RunSummary }): ReactElement | null {
  if (!run.problem) return null;
  return (
    <Notice icon={<IconAlertTriangle size={15} aria-hidden />} link={null}>
      This recording has a problem: {run.problem}
    </Notice>
  );
}
