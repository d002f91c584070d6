import { describe, expect, it } from "vitest";
import type { RankChange } from "@/api/schema";
import { inRankOrder, movement, readablePath, readableValue, typeMatters, scalarName, scalarWords } from "./values";

describe("readablePath", () => {
  it.each([
    ["", "(whole value)"],
    ["/items/0/price", "items[0].price"],
    ["/0", "[0]"],
    ["/duration in ms", "duration in ms"],
    ["/a~1b/c~0d", '["a/b"]["c~d"]'],
    ["/größe/first name", 'größe["first name"]'],
  ])("reads %s as %s", (pointer, expected) => {
    expect(readablePath(pointer)).toBe(expected);
  });
});

describe("readableValue", () => {
  it("formats values by type and length", () => {
    expect(readableValue("over limit")).toBe("over limit");
    expect(readableValue({ amount: 42 })).toBe('{"amount":42}');
    expect(readableValue({ text: "x".repeat(80) })).toContain("\n");
  });

  it("detects a number that became text", () => {
    expect(typeMatters(42, "42")).toBe(true);
    expect(typeMatters(42, 43)).toBe(false);
    expect(typeMatters(null, "null")).toBe(true);
  });
});

describe("ranks", () => {
  const change = (
    document: string,
    op: RankChange["op"],
    base_rank: number | null,
    candidate_rank: number | null,
  ): RankChange => ({
    document,
    title: document,
    op,
    base_rank,
    candidate_rank,
    base_score: null,
    candidate_score: null,
  });

  it("describes the movement of a document", () => {
    expect(movement(change("a", "moved", 4, 1))).toEqual({ words: "up 3", places: 3 });
    expect(movement(change("a", "moved", 1, 2))).toEqual({ words: "down 1", places: -1 });
    expect(movement(change("a", "added", null, 2)).words).toBe("new");
  });

  it("keeps removed documents in their old place", () => {
    const rows = inRankOrder([
      change("gone", "removed", 1, null),
      change("b", "moved", 2, 1),
      change("c", "added", null, 2),
    ]);
    expect(rows.map((row) => row.document)).toEqual(["b", "gone", "c"]);
  });
});

it("totals are words with their unit", () => {
  expect([scalarName("/duration in ms", "totals"), scalarName("/live", "labels")]).toEqual(["duration", "recorded"]);
  expect([scalarWords("/duration in ms", 2316.1), scalarWords("/tokens in", 2980)]).toEqual(["2.3 s", "2,980"]);
  expect([scalarWords("/errors", null), scalarWords("/status", "failed")]).toEqual(["–", "failed"]);
});
