import { describe, expect, it } from "vitest";
import type { TextSpan } from "@/api/schema";
import { elide, foldRows, sideText, textRows, wordCount } from "./textDiff";

const equal = (text: string): TextSpan => ({ op: "equal", text });
const insert = (text: string): TextSpan => ({ op: "insert", text });
const remove = (text: string): TextSpan => ({ op: "delete", text });

const join = (segments: { text: string }[]) => segments.map((segment) => segment.text).join("");

describe("textRows", () => {
  const spans = [equal("Dear Ada,\nthe refund of "), remove("420.00"), insert("42.00"), equal(" EUR\nBye")];

  it("aligns lines and marks changes", () => {
    const rows = textRows(spans);
    expect(rows.map((row) => [join(row.base), join(row.candidate), row.changed])).toEqual([
      ["Dear Ada,", "Dear Ada,", false],
      ["the refund of 420.00 EUR", "the refund of 42.00 EUR", true],
      ["Bye", "Bye", false],
    ]);
  });

  it("shows every character exactly once", () => {
    const rows = textRows([...spans, insert("\nP.S.\n"), equal("\n\nend")]);
    expect(rows.map((row) => join(row.candidate)).join("\n")).toBe(
      sideText([...spans, insert("\nP.S.\n"), equal("\n\nend")], "candidate"),
    );
    expect(rows.map((row) => join(row.base)).join("\n")).toBe(sideText([...spans, equal("\n\nend")], "base"));
  });

  it("puts one-sided text on its side", () => {
    const [row] = textRows([insert("all new\nin two lines")]);
    expect(row).toMatchObject({ base: [], candidate: [{ op: "insert" }], changed: true });
  });

  it("has one empty row for empty text", () => {
    expect(textRows([])).toHaveLength(1);
  });
});

describe("foldRows", () => {
  it("folds rows far from a change", () => {
    const rows = textRows([equal("1\n2\n3\n4\n5\n"), insert("new"), equal("\n7\n8\n9\n10")]);
    const shape = foldRows(rows, 1).map((block) =>
      block.kind === "fold" ? `fold ${block.rows.length}` : join(block.row.candidate),
    );
    expect(shape).toEqual(["fold 4", "5", "new", "7", "fold 3"]);
  });

  it("does not fold a single row", () => {
    const rows = textRows([equal("1\n2\n"), insert("x"), equal("\n4\n5")]);
    expect(foldRows(rows, 1).every((block) => block.kind === "row")).toBe(true);
  });

  it("folds everything without changes", () => {
    expect(foldRows(textRows([equal("a\nb\nc")]))).toHaveLength(1);
  });
});

describe("elide", () => {
  const long = "word ".repeat(400);

  it("cuts long passages without losing characters", () => {
    const parts = elide([
      { op: "equal", text: long },
      { op: "insert", text: "new" },
      { op: "equal", text: long },
    ]);
    expect(parts.map((part) => part.op)).toEqual(["gap", "equal", "insert", "equal", "gap"]);
    expect(join(parts)).toBe(`${long}new${long}`);
  });

  it("keeps short passages and changes", () => {
    const segments = [
      { op: "equal" as const, text: "short" },
      { op: "insert" as const, text: long },
    ];
    expect(elide(segments)).toEqual(segments);
  });
});

describe("wordCount", () => {
  it("counts words, not spaces", () => {
    expect(wordCount("  two  words \n")).toBe(2);
    expect(wordCount("")).toBe(0);
  });
});
