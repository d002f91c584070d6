import { describe, expect, it } from "vitest";
import type { TreeRun } from "@/api/schema";
import { branchesOf, chooseRun, filterRuns, forkWords, lastStep, lineOf, treeTitle } from "./tree";

const root: TreeRun = {
  id: "r",
  parent: null,
  depth: 0,
  name: "refund",
  status: "completed",
  outcome: "unknown",
  outcome_reason: "",
  sealed: true,
  errors: 0,
  steps: 10,
  labels: { live: 10, exact: 0, cached: 0, simulated: 0 },
  labels_before_fork: { live: 0, exact: 0, cached: 0, simulated: 0 },
  fork_sequence_no: null,
  title: "",
  note: "",
  change: null,
  answer: "",
  origin: "recorded",
  origin_id: null,
  origin_name: "",
  session: null,
  session_status: null,
  diff: null,
  ars: null,
  output_similarity: null,
  tool_accuracy: null,
  tokens_in: 0,
  tokens_out: 0,
  cost_usd: null,
  latency_ms: null,
  checks: null,
  started_at: null,
  created_at: "2026-11-22T00:00:00Z",
};
const fork = (id: string, parent: string, change: Partial<TreeRun> = {}): TreeRun => ({
  ...root,
  id,
  parent,
  depth: 1,
  origin: "fork",
  fork_sequence_no: 5,
  labels: { live: 0, exact: 6, cached: 1, simulated: 3 },
  labels_before_fork: { live: 0, exact: 4, cached: 0, simulated: 0 },
  ...change,
});

describe("the drawing", () => {
  it("leaves out steps that a fork of a replay inherits under any label", () => {
    const { segments } = lineOf(fork("a", "r", { labels_before_fork: { live: 0, exact: 2, cached: 0, simulated: 2 } }));
    expect(segments).toEqual([
      { mark: "exact", start: 5, end: 9 },
      { mark: "cached", start: 9, end: 10 },
      { mark: "simulated", start: 10, end: 11 },
    ]);
  });
  it("starts each fork at its branch point", () => {
    expect(lineOf(root)).toEqual({ start: 1, segments: [{ mark: "live", start: 1, end: 11 }] });
    const { start, segments } = lineOf(fork("a", "r"));
    expect(start).toBe(5);
    expect(segments).toEqual([
      { mark: "exact", start: 5, end: 7 },
      { mark: "cached", start: 7, end: 8 },
      { mark: "simulated", start: 8, end: 11 },
    ]);
  });

  it("connects each fork with its source", () => {
    const depths = [0, 1, 2, 2, 1, 2];
    expect(branchesOf(depths.map((depth, row) => fork(String(row), "r", { depth })))).toEqual([
      [],
      [true],
      [true, true],
      [true, false],
      [false],
      [false, false],
    ]);
  });

  it("is as wide as the longest run", () => {
    expect(lastStep([root, fork("a", "r", { steps: 14 })])).toBe(15);
  });
});

describe("the list", () => {
  it("keeps the ancestors of one origin", () => {
    const runs = [root, fork("a", "r"), fork("b", "a", { origin: "experiment" }), fork("c", "r")];
    expect(filterRuns(runs, "experiment").map(({ id }) => id)).toEqual(["r", "a", "b"]);
    expect(filterRuns(runs, "all")).toHaveLength(4);
  });

  it("omits probes but keeps their forks", () => {
    const probe = fork("p", "r", { origin: "proof" });
    const runs = [root, fork("a", "r"), probe, fork("b", "p"), fork("q", "r", { origin: "bisection" })];
    expect(filterRuns(runs, "asked").map(({ id }) => id)).toEqual(["r", "a", "p", "b"]);
  });

  it("titles a fork by change or purpose", () => {
    expect(treeTitle(root)).toBe("refund");
    const change = { text: "m1 → m2", target: "model", count: 2 };
    expect(treeTitle(fork("a", "r", { change }))).toBe("m1 → m2 and 1 more change");
    expect(treeTitle(fork("a", "r", { change, title: "Other model" }))).toBe("Other model");
    expect(treeTitle(fork("a", "r", { origin: "bisection", origin_name: "probe 3" }))).toBe("bisection: probe 3");
  });

  it("keeps the last two choices", () => {
    expect(chooseRun(["a", "b"], "c")).toEqual(["b", "c"]);
    expect(chooseRun(["a", "b"], "a")).toEqual(["b"]);
  });
});

it("says that there are no forks yet, and how many are probes", () => {
  expect(forkWords(0)).toMatch(/^No forks yet/);
  expect(forkWords(3, 1)).toMatch(/^3 forks \(1 probe of/);
});
