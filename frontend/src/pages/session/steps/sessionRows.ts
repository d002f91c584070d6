/** The list of a replay's steps: those resolved, and those that the recording lets one expect. */
import type { StepSummary } from "@/api/schema";

export type SessionRow =
  | { kind: "inherited"; count: number }
  | { kind: "fork"; sequenceNo: number }
  | { kind: "done"; step: StepSummary }
  | { kind: "current"; sequenceNo: number; expected: StepSummary | null }
  | { kind: "expected"; sequenceNo: number; step: StepSummary };

interface Progress {
  forkAt: number;
  resolved: readonly StepSummary[];
  source: readonly StepSummary[];
  /** Recorded calls that nobody asks for any more. */
  unused: readonly number[];
  running: boolean;
  showInherited: boolean;
}

/** Rows in order. What is expected is what the recording did from here on, until the replay goes another way. */
export function sessionRows(progress: Progress): SessionRow[] {
  const { forkAt, resolved, running, showInherited } = progress;
  const inherited = resolved.filter((step) => step.sequence_no < forkAt);
  const replayed = resolved.filter((step) => step.sequence_no >= forkAt);
  const rows: SessionRow[] = [];
  // Agents and turns that were open at the fork end otherwise; the rest is as recorded.
  const listed = showInherited ? inherited : inherited.filter((step) => step.label !== "exact");
  const count = inherited.length - listed.length;
  if (count > 0) rows.push({ kind: "inherited", count });
  rows.push(...listed.map((step) => ({ kind: "done" as const, step })));
  rows.push({ kind: "fork", sequenceNo: forkAt });
  rows.push(...replayed.map((step) => ({ kind: "done" as const, step })));
  if (!running) return rows;
  const next = (replayed.at(-1)?.sequence_no ?? forkAt - 1) + 1;
  const [now, ...later] = expectedSteps(progress, replayed);
  rows.push({ kind: "current", sequenceNo: next, expected: now ?? null });
  rows.push(...later.map((step, index) => ({ kind: "expected" as const, sequenceNo: next + 1 + index, step })));
  return rows;
}

/** Recorded steps after the last one that the replay has come to, without the calls it no longer makes. */
function expectedSteps({ source, forkAt, unused }: Progress, replayed: readonly StepSummary[]): StepSummary[] {
  const numbers = new Map(source.map((step) => [step.id, step.sequence_no]));
  const reached = replayed.map((step) => (step.source_step === null ? 0 : (numbers.get(step.source_step) ?? 0)));
  const last = Math.max(forkAt - 1, ...reached);
  const gone = new Set(unused);
  return source.filter((step) => step.sequence_no > last && !gone.has(step.sequence_no));
}

/** Newly read steps in place of those that had their numbers, in order. */
export function mergeSteps(before: readonly StepSummary[], read: readonly StepSummary[]): StepSummary[] {
  const byNumber = new Map(before.map((step) => [step.sequence_no, step]));
  for (const step of read) byNumber.set(step.sequence_no, step);
  return [...byNumber.values()].sort((a, b) => a.sequence_no - b.sequence_no);
}
