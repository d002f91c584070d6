/** The tree of a run as it is drawn and listed. */
import type { TreeRun } from "@/api/schema";
import type { Mark } from "@/domain/steps/labels";

export const ORIGIN: Record<TreeRun["origin"], string> = {
  recorded: "recorded",
  fork: "fork",
  experiment: "experiment",
  bisection: "bisection",
  proof: "proof",
  unchanged: "unchanged replay",
};

/** What a run is called in its tree: its change, or what it was made for. */
export function runTitle(run: TreeRun): string {
  if (run.parent === null) return run.name;
  if (run.origin_name)
    return run.origin === "experiment" ? run.origin_name : `${ORIGIN[run.origin]}: ${run.origin_name}`;
  return run.changes.length > 0 ? run.changes.join(", ") : "no changes";
}

interface Segment {
  mark: Mark;
  start: number;
  end: number;
}

/** One run as a line over the step numbers, from where it left its source. */
export interface Line {
  run: TreeRun;
  row: number;
  parentRow: number | null;
  start: number;
  segments: Segment[];
}

/** One line for each run, in the order of the list. */
export function linesOf(runs: readonly TreeRun[]): Line[] {
  const rows = new Map(runs.map(({ id }, row) => [id, row]));
  return runs.map((run, row) => {
    const start = run.fork_sequence_no ?? 1;
    return {
      run,
      row,
      parentRow: run.parent === null ? null : (rows.get(run.parent) ?? null),
      start,
      segments: segmentsOf(run, start),
    };
  });
}

/** What lies after the fork, by label; all before it is the source's. A failed run ends in its colour. */
function segmentsOf(run: TreeRun, start: number): Segment[] {
  const { live, exact, cached, simulated } = run.labels;
  const inheritedCount = run.parent === null ? 0 : start - 1;
  const parts: [Mark, number][] = [
    ["live", live],
    ["exact", Math.max(0, exact - inheritedCount)],
    ["cached", cached],
    ["simulated", simulated],
  ];
  const marks: Segment[] = [];
  let position = start;
  for (const [mark, size] of parts) {
    if (size > 0) marks.push({ mark, start: position, end: position + size });
    position += size;
  }
  return marks;
}

/** The last step number of any run. */
export function lastStep(runs: readonly TreeRun[]): number {
  return runs.reduce((longest, { steps }) => Math.max(longest, steps), 1) + 1;
}

/** `asked` leaves out the probes: the many replays that a proof or a bisection makes. */
export type TreeFilter = TreeRun["origin"] | "all" | "asked";

export function isProbe({ origin }: TreeRun): boolean {
  return origin === "proof" || origin === "bisection";
}

/** The runs of one origin, with everything above them, so that the tree stays whole. */
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

/** Two at most: a third choice takes the place of the first. */
export function chooseRun(selection: readonly string[], id: string): string[] {
  return selection.includes(id) ? selection.filter((item) => item !== id) : [...selection, id].slice(-2);
}
