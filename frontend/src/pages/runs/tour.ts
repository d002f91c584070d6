// The tour of the demo, derived from the lists.
import type { DiffSummary, RunSummary } from "@/api/schema";

export interface Tour {
  /** The demo's failed run and the fork that fixes it. */
  failed: RunSummary;
  fork: RunSummary;
}

/** The demo's failed run and its first fork. Null if the list does not contain both. */
export function demoTour(runs: readonly RunSummary[]): Tour | null {
  const demo = runs.filter((run) => run.environment === "demo");
  const failed = demo.find((run) => run.status === "failed" && run.source_run === null);
  const fork = failed && demo.findLast((run) => run.source_run === failed.id && run.fork_sequence_no !== null);
  return fork ? { failed, fork } : null;
}

/** The report on the two, once it exists. */
export function tourDiff(tour: Tour, diffs: readonly DiffSummary[]): DiffSummary | null {
  return diffs.find(({ base, candidate }) => base.id === tour.failed.id && candidate.id === tour.fork.id) ?? null;
}
