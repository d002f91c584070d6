import { describe, expect, it } from "vitest";
import type { AlignedPair, SectionItem, StepRef } from "@/api/schema";
import {
  concerns,
  connectors,
  differences,
  nextDifference,
  pairKey,
  pairRows,
  relationCounts,
  type PairRow,
} from "./pairs";

function step(sequence_no: number): StepRef {
  return {
    id: `step-${sequence_no}`,
    sequence_no,
    type: "tool",
    name: "get_order",
    summary: "",
    status: "ok",
    label: "live",
    reason: "",
  };
}

function pair(base: number | null, candidate: number | null, relation: AlignedPair["relation"] = "same"): AlignedPair {
  return {
    base: base === null ? null : step(base),
    candidate: candidate === null ? null : step(candidate),
    relation,
    found_by: "sequence",
    confidence: 1,
    changes: [],
  };
}

const NONE: ReadonlySet<string> = new Set();
const shape = (rows: PairRow[]) =>
  rows.map((row) => (row.kind === "fold" ? `fold ${row.count}` : `${row.kind} ${pairKey(row.pair)}`));

describe("pairRows", () => {
  it("keeps all pairs in order", () => {
    const pairs = [pair(1, 1), pair(2, null, "removed"), pair(3, 2), pair(null, 3, "added")];
    expect(shape(pairRows(pairs, false, NONE))).toEqual(["pair 1-1", "pair 2-", "pair 3-2", "pair -3"]);
  });

  it("gives a move two rows", () => {
    const pairs = [pair(1, 1), pair(2, 4, "moved"), pair(3, 2), pair(4, 3), pair(5, 5)];
    const rows = pairRows(pairs, false, NONE);
    expect(shape(rows)).toEqual(["pair 1-1", "moved-from 2-4", "pair 3-2", "pair 4-3", "moved-to 2-4", "pair 5-5"]);
    expect(connectors(rows)).toEqual([{ key: "2-4", startRow: 1, endRow: 4 }]);
  });

  it("finds both ends of a move anywhere", () => {
    const pairs = [pair(1, 2), pair(2, 3), pair(3, 1, "moved")];
    expect(shape(pairRows(pairs, false, NONE))).toEqual(["moved-to 3-1", "pair 1-2", "pair 2-3", "moved-from 3-1"]);
  });

  it("folds unchanged pairs and reopens them", () => {
    const pairs = [1, 2, 3, 4, 5].map((n) => pair(n, n)).concat(pair(6, 6, "changed"));
    expect(shape(pairRows(pairs, true, NONE))).toEqual(["fold 4", "pair 5-5", "pair 6-6"]);
    expect(pairRows(pairs, true, new Set(["1-1"]))).toHaveLength(6);
  });

  it("folds two equal runs into one row", () => {
    expect(shape(pairRows([pair(1, 1), pair(2, 2)], true, NONE))).toEqual(["fold 2"]);
  });
});

describe("differences", () => {
  const rows = pairRows([pair(1, 1), pair(2, 3, "moved"), pair(3, 2), pair(4, 4, "changed")], false, NONE);

  it("counts a move once", () => {
    expect(differences(rows)).toEqual(["2-3", "4-4"]);
  });

  it("wraps around in both directions", () => {
    const keys = differences(rows);
    expect(nextDifference(keys, null, 1)).toBe("2-3");
    expect(nextDifference(keys, "4-4", 1)).toBe("2-3");
    expect(nextDifference(keys, "2-3", -1)).toBe("4-4");
    expect(nextDifference(keys, "1-1", 1)).toBe("2-3");
    expect(nextDifference([], null, 1)).toBeNull();
  });
});

describe("concerns", () => {
  const item = (base: number | null, candidate: number | null): SectionItem => ({
    kind: "result",
    title: "",
    relation: "changed",
    base: base === null ? null : step(base),
    candidate: candidate === null ? null : step(candidate),
    similarity: null,
    text: null,
    values: [],
    ranks: null,
    messages: [],
  });

  it("matches items by one or both sides", () => {
    expect(concerns(item(5, 6), "5-6")).toBe(true);
    expect(concerns(item(5, null), "5-6")).toBe(true);
    expect(concerns(item(5, 7), "5-6")).toBe(false);
    expect(concerns(item(null, null), "5-6")).toBe(false);
    expect(concerns(item(null, 8), "-8")).toBe(true);
  });
});

describe("relationCounts", () => {
  it("counts pairs by relation", () => {
    expect(relationCounts([pair(1, 1), pair(2, 2, "changed"), pair(3, null, "removed")])).toMatchObject({
      same: 1,
      changed: 1,
      removed: 1,
      added: 0,
    });
  });
});
