// The three steps that a first visitor is shown, from what the lists say anyway.
import type { DiffSummary, RunSummary } from "@/api/schema";

export interface Tour {
  /** The demo's run that went wrong, and the fork that mends it. */
  failed: RunSummary;
  fork: RunSummary;
}

/** The demo's failed run with its first fork; null where the list does not show both. */
export function demoTour(runs: readonly RunSummary[]): Tour | null {
  const demo = runs.filter((run) => run.environment === "demo");
  const failed = demo.find((run) => run.status === "failed" && run.source_run === null);
  const fork = failed && demo.findLast((run) => run.source_run === failed.id && run.fork_sequence_no !== null);
  return fork ? { failed, fork } : null;
}

/** The report on the two, once it is made. */
export function tourDiff(tour: Tour, diffs: readonly DiffSummary[]): DiffSummary | null {
  return diffs.find(({ base, candidate }) => base.id === tour.failed.id && candidate.id === tour.fork.id) ?? null;
}
