/** The list of a replay's steps: those resolved, and those that the recording lets one expect. */
import type { StepSummary } from "@/api/schema";

export type SessionRow =
  | { kind: "inherited"; count: number }
  | { kind: "fork"; sequenceNo: number }
  | { kind: "done"; step: StepSummary }
  | { kind: "current"; sequenceNo: number; expected: StepSummary | null }
  | { kind: "expected"; step: StepSummary };

interface Progress {
  forkAt: number;
  resolved: readonly StepSummary[];
  source: readonly StepSummary[];
  running: boolean;
  showInherited: boolean;
}

/** Rows in order. What is expected is what the recording did from here on, until the replay goes another way. */
export function sessionRows({ forkAt, resolved, source, running, showInherited }: Progress): SessionRow[] {
  const inherited = resolved.filter((step) => step.sequence_no < forkAt);
  const replayed = resolved.filter((step) => step.sequence_no >= forkAt);
  const rows: SessionRow[] = [];
  if (inherited.length > 0 && !showInherited) rows.push({ kind: "inherited", count: inherited.length });
  else rows.push(...inherited.map((step) => ({ kind: "done" as const, step })));
  rows.push({ kind: "fork", sequenceNo: forkAt });
  rows.push(...replayed.map((step) => ({ kind: "done" as const, step })));
  if (!running) return rows;
  const next = nextAfter(replayed, forkAt);
  const expected = source.filter((step) => step.sequence_no > next);
  rows.push({ kind: "current", sequenceNo: next, expected: source.find((step) => step.sequence_no === next) ?? null });
  rows.push(...expected.map((step) => ({ kind: "expected" as const, step })));
  return rows;
}

function nextAfter(replayed: readonly StepSummary[], forkAt: number): number {
  const last = replayed.at(-1);
  return last ? last.sequence_no + 1 : forkAt;
}

/** Newly read steps in place of those that had their numbers, in order. */
export function mergeSteps(before: readonly StepSummary[], read: readonly StepSummary[]): StepSummary[] {
  const byNumber = new Map(before.map((step) => [step.sequence_no, step]));
  for (const step of read) byNumber.set(step.sequence_no, step);
  return [...byNumber.values()].sort((a, b) => a.sequence_no - b.sequence_no);
}
