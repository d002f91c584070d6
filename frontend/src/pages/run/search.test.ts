import { expect, test } from "vitest";
import { parseRunSearch } from "./search";

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
