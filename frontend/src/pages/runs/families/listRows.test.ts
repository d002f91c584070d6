import { expect, test } from "vitest";
import type { RunFamily, RunSummary } from "@/api/schema";
import { aRun } from "@/testing/factories";
import { listRows, type ListRow, type OpenFamily } from "./listRows";

const root = aRun({ id: "root" });
const aFork = (id: string, source: string) => aRun({ id, source_run: source, fork_sequence_no: 3 });
const aFamily = (changes: Partial<RunFamily> = {}): RunFamily => ({
  root: "root",
  forks: 2,
  matches: 2,
  is_match: true,
  runs: [],
  ...changes,
});

function rowsOf(family: RunFamily, forks: RunSummary[] | null, showsAll = false): ListRow[] {
  const openFamilies = new Map<string, OpenFamily>([["root", { forks, showsAll }]]);
  return listRows([root], new Map([["root", family]]), openFamilies);
}

const shape = (rows: ListRow[]) =>
  rows.map((row) => (row.kind === "run" ? `${row.depth} ${row.run.id}${row.isLast ? " last" : ""}` : row.text));

test("forks are below their source", () => {
  const forks = [aFork("c", "a"), aFork("b", "root"), aFork("a", "root")];
  expect(shape(rowsOf(aFamily({ forks: 3, matches: 3 }), forks))).toEqual(["0 root", "1 b", "1 a", "2 c last"]);
});

test("a fork of a run that is not shown is below the first run", () => {
  expect(shape(rowsOf(aFamily({ forks: 1, matches: 1 }), [aFork("c", "deleted")]))).toEqual(["0 root", "1 c last"]);
});

test("a closed family has one row", () => {
  const [row] = listRows([root, aRun({ id: "other" })], new Map([["root", aFamily()]]), new Map());
  expect(row).toMatchObject({ family: { forks: 2 }, isOpen: false });
});

test("says which forks are not shown, and why", () => {
  const [fork] = [aFork("a", "root")];
  expect(shape(rowsOf(aFamily({ matches: 1 }), [fork]))).toEqual([
    "0 root",
    "1 a",
    "1 other fork does not match the filters.",
  ]);
  expect(shape(rowsOf(aFamily({ forks: 300, matches: 300 }), [fork]))).toContain(
    "The newest 1 of 300 forks are shown.",
  );
  expect(shape(rowsOf(aFamily(), null))).toContain("Loading the forks…");
  expect(shape(rowsOf(aFamily({ forks: 1, matches: 0 }), [fork], true))).toEqual(["0 root", "1 a last"]);
});
