// The rows of the list: runs with their forks below them.
import type { RunFamily, RunSummary } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";

export interface RunRowData {
  kind: "run";
  run: RunSummary;
  /** 0: in the list itself; a fork: 1 or more. */
  depth: number;
  /** Nothing of the family comes below it. */
  isLast: boolean;
  /** The forks of a run in the list itself, if it has any. */
  family: RunFamily | null;
  isOpen: boolean;
}

/** A line below the forks of a run: forks that are not shown. */
export interface NoteRowData {
  kind: "note";
  root: string;
  text: string;
  /** The forks are left out by the filters, so they can be shown. */
  isFiltered: boolean;
}

export type ListRow = RunRowData | NoteRowData;

export interface OpenFamily {
  /** Its forks, newest first; null while they load. */
  forks: readonly RunSummary[] | null;
  /** All forks are shown, whether they match the filters or not. */
  showsAll: boolean;
}

export function runsOf(rows: readonly ListRow[]): RunSummary[] {
  return rows.flatMap((row) => (row.kind === "run" ? [row.run] : []));
}

/** The rows in order. `openFamilies` has the families whose forks are shown. */
export function listRows(
  runs: readonly RunSummary[],
  families: ReadonlyMap<string, RunFamily>,
  openFamilies: ReadonlyMap<string, OpenFamily>,
): ListRow[] {
  return runs.flatMap((run) => {
    const family = families.get(run.id) ?? null;
    const open = family && openFamilies.get(run.id);
    const head: RunRowData = { kind: "run", run, depth: 0, isLast: false, family, isOpen: Boolean(open) };
    return open ? [head, ...forkRows(family, open)] : [head];
  });
}

function forkRows(family: RunFamily, open: OpenFamily): ListRow[] {
  const forks = open.forks ?? [];
  const rows: ListRow[] = inTreeOrder(forks).map(([run, depth]) => ({
    kind: "run",
    run,
    depth,
    isLast: false,
    family: null,
    isOpen: false,
  }));
  const note = noteOf(family, open);
  if (note) return [...rows, note];
  const last = rows.at(-1);
  if (last?.kind === "run") last.isLast = true;
  return rows;
}

/** Each fork below its source, with its depth. A fork whose source is not among them is below the first run. */
function inTreeOrder(forks: readonly RunSummary[]): [RunSummary, number][] {
  const ids = new Set(forks.map(({ id }) => id));
  const children = new Map<string, RunSummary[]>();
  for (const fork of forks) {
    const source = fork.source_run && ids.has(fork.source_run) ? fork.source_run : "";
    children.set(source, [...(children.get(source) ?? []), fork]);
  }
  const walk = (source: string, depth: number): [RunSummary, number][] =>
    (children.get(source) ?? []).flatMap((fork) => [
      [fork, depth] as [RunSummary, number],
      ...walk(fork.id, depth + 1),
    ]);
  return walk("", 1);
}

function noteOf(family: RunFamily, { forks, showsAll }: OpenFamily): NoteRowData | null {
  if (forks === null) return { kind: "note", root: family.root, text: "Loading the forks…", isFiltered: false };
  const total = showsAll ? family.forks : family.matches;
  if (forks.length < total) {
    const text = `The newest ${forks.length} of ${pluralize(total, "fork")} are shown.`;
    return { kind: "note", root: family.root, text, isFiltered: false };
  }
  const rest = family.forks - family.matches;
  if (showsAll || rest <= 0) return null;
  const text = `${pluralize(rest, "other fork")} ${rest === 1 ? "does" : "do"} not match the filters.`;
  return { kind: "note", root: family.root, text, isFiltered: true };
}
