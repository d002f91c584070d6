// The replays of one combination. Pure.
import type { ExperimentRowView } from "@/api/schema";

export type SampleState = "passed" | "not passed" | "unverified" | "failed" | "done" | "cancelled" | "not finished";

export function sampleState(row: ExperimentRowView): SampleState {
  if (row.status.startsWith("failed")) return "failed";
  if (row.status === "cancelled") return "cancelled";
  if (!row.status.startsWith("completed")) return "not finished";
  if (row.checks === null || row.checks.length === 0) return "done";
  if (row.unverified) return "unverified";
  return row.checks.every(({ passed }) => passed) ? "passed" : "not passed";
}

/** How many replays gave each answer, the most frequent first. */
export function answerCounts(rows: readonly ExperimentRowView[]): { text: string; rowCount: number }[] {
  const counts = new Map<string, number>();
  for (const { answer } of rows) if (answer) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  return [...counts].map(([text, rowCount]) => ({ text, rowCount })).toSorted((a, b) => b.rowCount - a.rowCount);
}
