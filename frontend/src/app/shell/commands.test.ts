import { describe, expect, test, vi } from "vitest";
import { aRun } from "@/testing/factories";
import { entriesOf, find, matchScore, runEntry } from "./commands";

const shortcut = (action: string, keys = "x") => ({ action, keys, run: () => undefined });

describe("entriesOf", () => {
  test("lists page actions first, without selection moves", () => {
    const groups = [
      { name: "Everywhere", shortcuts: [shortcut("Go to runs")] },
      { name: "Diff", shortcuts: [shortcut("Next difference"), shortcut("Share this report")] },
    ];
    expect(entriesOf(groups).map((entry) => entry.label)).toEqual(["Share this report", "Go to runs"]);
  });
});

describe("find", () => {
  const entries = entriesOf([
    { name: "Everywhere", shortcuts: [shortcut("Go to runs"), shortcut("Go to replays"), shortcut("Forerunner")] },
  ]);

  test("matches all words, word starts first", () => {
    expect(find(entries, "run").map((entry) => entry.label)).toEqual(["Go to runs", "Forerunner"]);
    expect(find(entries, "replays go")).toHaveLength(1);
    expect(find(entries, "zebra")).toEqual([]);
  });

  test("keeps the order without a query", () => {
    expect(find(entries, " ")).toEqual(entries);
  });
});

test("a missing word prevents a match", () => {
  expect(matchScore("Refund for order A-1042", "refund 1042")).not.toBeNull();
  expect(matchScore("Refund for order A-1042", "refund 7")).toBeNull();
});

test("describes a run by app and fork", () => {
  const open = vi.fn();
  const run = aRun({
    name: "Refund",
    change: { text: "m1 → m2", target: "model", count: 1 },
    fork_sequence_no: 5,
    started_at: "2026-11-21T10:00:00Z",
  });
  const entry = runEntry(run, open);
  expect(entry.note).toContain("fork of Refund · 9 steps");
  entry.run();
  expect(open).toHaveBeenCalledWith(run);
});
