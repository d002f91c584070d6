import { describe, expect, it } from "vitest";
import type { Section, SectionItem, Sections, StepRef } from "@/api/schema";
import { occurrenceOf, parseDiffSearch, visibleItems } from "./search";

const step = (sequence_no: number): StepRef => ({
  id: String(sequence_no),
  sequence_no,
  type: "model",
  name: "",
  summary: "",
  status: "ok",
  label: "live",
  reason: "",
});

const item = (base: number | null): SectionItem => ({
  kind: "completion",
  title: "",
  relation: "changed",
  base: base === null ? null : step(base),
  candidate: base === null ? null : step(base),
  similarity: null,
  text: null,
  values: [],
  ranks: null,
  messages: [],
});

const section = (name: Section["name"], ...items: SectionItem[]): Section => ({
  name,
  summary: "",
  items,
  unavailable: [],
});

const sections: Sections = {
  prompt: section("prompt", item(5)),
  retrieval: section("retrieval"),
  tool: section("tool", item(6)),
  model: section("model", item(5)),
  output: section("output", item(9)),
  run: section("run", item(null)),
};

describe("parseDiffSearch", () => {
  it("keeps known parameters only", () => {
    expect(parseDiffSearch({ section: "tool", pair: "5-", unified: true, all: "yes", x: 1 })).toEqual({
      section: "tool",
      pair: "5-",
      unified: true,
    });
    expect(parseDiffSearch({ section: "secrets", pair: "5" })).toEqual({});
    expect(parseDiffSearch({ pair: -8 })).toEqual({ pair: "-8" });
  });
});

it("tells differences of one kind at the same steps apart by their order", () => {
  const [item] = sections.prompt.items;
  if (!item) throw new Error("the report has no difference of prompts");
  const items = [item, { ...item, kind: "another" }, { ...item }, { ...item, base: null }];
  expect(items.map((item) => occurrenceOf(item, items))).toEqual([0, 0, 1, 0]);
});

describe("visibleItems", () => {
  it("omits items of other steps", () => {
    expect(visibleItems(sections.prompt.items, "5-5")).toHaveLength(1);
    expect(visibleItems(sections.prompt.items, "6-6")).toHaveLength(0);
  });
});
