// What a purge would do, in words.
import type { PurgePlanView, RetentionEffect } from "@/api/schema";
import { bytes, pluralize } from "@/ui/format/numbers";

/** "would delete 3 runs (1.2 MB) now; 2 older runs would stay." */
export function planWords(plan: Pick<PurgePlanView, "runs" | "size" | "effects">): string {
  const count = protectedCount(plan.effects);
  const rest = count > 0 ? `; ${pluralize(count, "older run")} would stay` : "";
  if (plan.runs === 0) return `would delete nothing now${rest}.`;
  return `would delete ${pluralize(plan.runs, "run")} (${bytes(plan.size)}) now${rest}.`;
}

/** Runs that are due, and that something keeps. */
export function protectedCount(effects: readonly RetentionEffect[]): number {
  return effects.reduce((sum, { pinned_runs, held_runs, cited_runs }) => sum + pinned_runs + held_runs + cited_runs, 0);
}

/** "2 pinned, 1 cited"; empty if nothing keeps a run. */
export function effectWords({ pinned_runs, held_runs, cited_runs }: RetentionEffect): string {
  return [
    ...(pinned_runs > 0 ? [`${pinned_runs} pinned`] : []),
    ...(held_runs > 0 ? [`${held_runs} under legal hold`] : []),
    ...(cited_runs > 0 ? [`${cited_runs} cited`] : []),
  ].join(", ");
}
