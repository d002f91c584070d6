/** The fork tree as drawn and listed. */
import type { TreeRun } from "@/api/schema";
import { runTitle } from "@/domain/runs/title";
import type { Mark } from "@/domain/steps/labels";
import { pluralize } from "@/ui/format/numbers";

export const ORIGIN: Record<TreeRun["origin"], string> = {
  recorded: "recorded",
  fork: "fork",
  experiment: "experiment",
  bisection: "bisection",
  proof: "proof",
  unchanged: "unchanged replay",
};

/** The title of a run in its tree: the name that users gave it, its purpose, or its change. */
export function treeTitle(run: TreeRun): string {
  if (run.title || run.parent === null || !run.origin_name) return runTitle(run);
  return run.origin === "experiment" ? run.origin_name : `${ORIGIN[run.origin]}: ${run.origin_name}`;
}

interface Segment {
  mark: Mark;
  start: number;
  end: number;
}

/** A run as a line over step numbers, starting where it was forked. */
interface Line {
  start: number;
  segments: Segment[];
}

export function lineOf(run: TreeRun): Line {
  const start = run.fork_sequence_no ?? 1;
  return { start, segments: segmentsOf(run, start) };
}

/** For each run and each level down to it: whether the line of that level goes on below, to another fork. */
export function branchesOf(runs: readonly TreeRun[]): boolean[][] {
  const openLevels: boolean[] = [];
  const branches = runs.toReversed().map(({ depth }) => {
    const levels = Array.from({ length: depth }, (_, level) => openLevels[level] ?? false);
    openLevels.length = depth;
    if (depth > 0) openLevels[depth - 1] = true;
    return levels;
  });
  return branches.reverse();
}

/** The steps after the fork by label; those before it belong to the source. A failed run ends in red. */
function segmentsOf(run: TreeRun, start: number): Segment[] {
  const labels = ["live", "exact", "cached", "simulated"] as const;
  // A run has counts only once it is sealed.
  const parts = labels.map((label) => [label, Math.max(0, run.labels[label] - run.labels_before_fork[label])] as const);
  const marks: Segment[] = [];
  let position = start;
  for (const [mark, size] of parts) {
    if (size > 0) marks.push({ mark, start: position, end: position + size });
    position += size;
  }
  return marks;
}

/** The highest step number of all runs. */
export function lastStep(runs: readonly TreeRun[]): number {
  return runs.reduce((longest, { steps }) => Math.max(longest, steps), 1) + 1;
}

/** `asked` hides probes, the many replays of proofs and bisections. */
export type TreeFilter = TreeRun["origin"] | "all" | "asked";

export function isProbe({ origin }: TreeRun): boolean {
  return origin === "proof" || origin === "bisection";
}

/** The runs of one origin and all of their ancestors, so that the tree stays connected. */
export function filterRuns(runs: readonly TreeRun[], filter: TreeFilter): TreeRun[] {
  if (filter === "all") return [...runs];
  const byId = new Map(runs.map((run) => [run.id, run]));
  const visible = new Set<string>();
  for (const run of runs) {
    if (filter === "asked" ? isProbe(run) : run.origin !== filter) continue;
    let ancestor: TreeRun | undefined = run;
    while (ancestor && !visible.has(ancestor.id)) {
      visible.add(ancestor.id);
      ancestor = ancestor.parent === null ? undefined : byId.get(ancestor.parent);
    }
  }
  return runs.filter(({ id }) => visible.has(id));
}

/** At most two: a third choice replaces the first. */
export function chooseRun(selection: readonly string[], id: string): string[] {
  return selection.includes(id) ? selection.filter((item) => item !== id) : [...selection, id].slice(-2);
}

/** What a tree with so many forks shows, of which some are probes of proofs and bisections. */
export function forkWords(forks: number, probes = 0): string {
  if (forks === 0) return "No forks yet. Each will be scored against the run that it was forked from.";
  const probeWords = probes > 0 ? ` (${pluralize(probes, "probe")} of proofs and bisections among them)` : "";
  return `${pluralize(forks, "fork")}${probeWords}, each scored against the run that it was forked from.`;
}
