import { expect, test } from "vitest";
import { parseRunSearch, searchInRevision } from "./search";

test("parses step, fork and view", () => {
  expect(parseRunSearch({ step: "5", fork: 3, view: "graph", other: 1 })).toEqual({ step: 5, fork: 3, view: "graph" });
});

test("requires a fork for a source replay", () => {
  expect(parseRunSearch({ fork: 3, from_session: "s" })).toEqual({ fork: 3, from_session: "s" });
  expect(parseRunSearch({ from_session: "s" })).toEqual({});
});

test("drops invalid step numbers", () => {
  expect(parseRunSearch({ step: "first", fork: 0, view: "map" })).toEqual({});
});

test("keeps the selected step in a revision that has it", () => {
  expect(searchInRevision({ step: 5, fork: 5, view: "graph" }, 5)).toEqual({ step: 5, view: "graph" });
  expect(searchInRevision({ step: 6, from_session: "s1" }, 5)).toEqual({});
});
