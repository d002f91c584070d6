import { expect, test } from "vitest";
import type { RunList, RunSummary } from "@/api/schema";
import { aRun } from "@/testing/factories";
import {
  allRuns,
  hitsByRun,
  coverageOf,
  familiesByRoot,
  mergeNewest,
  orderPair,
  paperRest,
  toggleAll,
  toggleSelection,
  totalWords,
} from "./listing";

const page = (...runs: RunSummary[]): RunList => ({
  runs,
  families: [],
  next: null,
  total: runs.length,
  more_than_total: false,
  hits: [],
  unindexed_runs: 0,
});

test("merges a fresh first page", () => {
  const data = { pages: [page(aRun({ id: "b" })), page(aRun({ id: "a", status: "running" }))], pageParams: ["", "x"] };
  const pages = mergeNewest(data, { ...page(aRun({ id: "c" }), aRun({ id: "a", status: "failed" })), total: 3 });
  expect(allRuns(pages).map((run) => [run.id, run.status])).toEqual([
    ["c", "completed"],
    ["b", "completed"],
    ["a", "failed"],
  ]);
  expect(pages.pages[0]?.total).toBe(3);
});

test("a fresh page brings its hits", () => {
  const hit = (run: string, step: number) => ({ run, step, name: "chat", type: "model" as const, snippet: [] });
  const data = { pages: [{ ...page(aRun({ id: "a" })), hits: [hit("a", 1)] }], pageParams: [""] };
  const fresh = mergeNewest(data, { ...page(aRun({ id: "b" })), hits: [hit("b", 2), hit("a", 3)] });
  expect([...hitsByRun(fresh)].map(([run, { step }]) => [run, step])).toEqual([
    ["a", 3],
    ["b", 2],
  ]);
});

test("a printed list says how much follows", () => {
  expect(paperRest(75, 1_000)).toBe("The first 75 rows. To print more, scroll down first, or filter the list.");
  expect(paperRest(1_200, 1_000)).toBe("The first 1,000 rows. Filter the list to print others.");
});

test("words of the total", () => {
  const words = (changes: Partial<RunList>) =>
    totalWords({ pages: [{ ...page(aRun({ id: "a" })), ...changes }], pageParams: [""] });
  expect(words({})).toBe("1 run");
  expect(words({ total: null })).toBe("1 run shown");
  expect(words({ total: 1000, more_than_total: true })).toBe("1,000+ runs");
  expect(words({ runs: [], total: 0 })).toBe("");
});

test("uses the source as base", () => {
  const source = aRun({ id: "s", started_at: "2026-05-02T00:00:00Z" });
  const fork = aRun({ id: "f", source_run: "s", started_at: "2026-05-01T00:00:00Z" });
  expect(orderPair(fork, source).base.id).toBe("s");
  expect(orderPair(source, fork).base.id).toBe("s");
});

test("uses the older run as base", () => {
  const older = aRun({ id: "o", started_at: "2026-05-01T00:00:00Z" });
  const newer = aRun({ id: "n", started_at: null, created_at: "2026-05-03T00:00:00Z" });
  expect(orderPair(newer, older)).toEqual({ base: older, candidate: newer });
});

test("selects any number of runs", () => {
  const [a, b, c] = [{ id: "a" }, { id: "b" }, { id: "c" }];
  expect([[], [a], [b, a]].map((selection) => coverageOf(selection, [a, b]))).toEqual(["none", "some", "all"]);
  expect(toggleAll([a], [a, b])).toEqual([a, b]);
  expect(toggleAll([a, b], [a, b])).toEqual([]);
  expect(toggleSelection([a, b], c)).toEqual([a, b, c]);
  expect(toggleSelection([a, b], { id: "a" })).toEqual([b]);
});

test("a fresh page brings its families", () => {
  const family = (root: string, forks: number) => ({ root, forks, matches: forks, is_match: true, runs: [] });
  const pages = [{ ...page(aRun({ id: "a" })), families: [family("a", 1)] }, page(aRun({ id: "z" }))];
  const fresh = mergeNewest({ pages, pageParams: ["", "x"] }, { ...page(), families: [family("a", 2)] });
  expect(familiesByRoot(fresh).get("a")?.forks).toBe(2);
});

test("a run that two pages found is listed once", () => {
  expect(allRuns({ pages: [page(aRun({ id: "a" })), page(aRun({ id: "a" }))], pageParams: ["", "x"] })).toHaveLength(1);
});
