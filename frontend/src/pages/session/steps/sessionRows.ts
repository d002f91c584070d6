/** The rows of a replay's steps: resolved ones and those expected from the recording. */
import type { StepSummary } from "@/api/schema";

export type SessionRow =
  | { kind: "inherited"; count: number }
  | { kind: "fork"; sequenceNo: number }
  | { kind: "done"; step: StepSummary }
  | { kind: "current"; sequenceNo: number; expected: StepSummary | null }
  | { kind: "expected"; sequenceNo: number; step: StepSummary };

interface Progress {
  forkAt: number;
  resolvedSteps: readonly StepSummary[];
  source: readonly StepSummary[];
  /** Recorded calls that the replay no longer makes. */
  unusedNumbers: readonly number[];
  running: boolean;
  showInherited: boolean;
}

/** The rows in order. Expected steps are the recorded ones that follow, until the replay diverges. */
export function sessionRows(progress: Progress): SessionRow[] {
  const { forkAt, resolvedSteps, running, showInherited } = progress;
  const inheritedSteps = resolvedSteps.filter((step) => step.sequence_no < forkAt);
  const replayedSteps = resolvedSteps.filter((step) => step.sequence_no >= forkAt);
  const rows: SessionRow[] = [];
  // Agents and turns that were open at the fork may end differently. Other steps are as recorded.
  const visibleInherited = showInherited ? inheritedSteps : inheritedSteps.filter((step) => step.label !== "exact");
  const count = inheritedSteps.length - visibleInherited.length;
  if (count > 0) rows.push({ kind: "inherited", count });
  rows.push(...visibleInherited.map((step) => ({ kind: "done" as const, step })));
  rows.push({ kind: "fork", sequenceNo: forkAt });
  rows.push(...replayedSteps.map((step) => ({ kind: "done" as const, step })));
  if (!running) return rows;
  const nextNumber = (replayedSteps.at(-1)?.sequence_no ?? forkAt - 1) + 1;
  const [current, ...upcoming] = expectedSteps(progress, replayedSteps);
  rows.push({ kind: "current", sequenceNo: nextNumber, expected: current ?? null });
  rows.push(
    ...upcoming.map((step, index) => ({ kind: "expected" as const, sequenceNo: nextNumber + 1 + index, step })),
  );
  return rows;
}

/** Recorded steps after the last one that the replay has reached, without calls that it no longer makes. */
function expectedSteps(
  { source, forkAt, unusedNumbers }: Progress,
  replayedSteps: readonly StepSummary[],
): StepSummary[] {
  const numbers = new Map(source.map((step) => [step.id, step.sequence_no]));
  const reachedNumbers = replayedSteps.map((step) =>
    step.source_step === null ? 0 : (numbers.get(step.source_step) ?? 0),
  );
  const last = Math.max(forkAt - 1, ...reachedNumbers);
  const unusedSet = new Set(unusedNumbers);
  return source.filter((step) => step.sequence_no > last && !unusedSet.has(step.sequence_no));
}
