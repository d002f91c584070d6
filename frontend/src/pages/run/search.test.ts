import { expect, test } from "vitest";
import { parseRunSearch } from "./search";

test("a link opens the step, the fork and the view that it names", () => {
  expect(parseRunSearch({ step: "5", fork: 3, view: "graph", other: 1 })).toEqual({ step: 5, fork: 3, view: "graph" });
});

test("a replay to start from belongs to a fork", () => {
  expect(parseRunSearch({ fork: 3, from_session: "s" })).toEqual({ fork: 3, from_session: "s" });
  expect(parseRunSearch({ from_session: "s" })).toEqual({});
});

test("what is no step number is left out", () => {
  expect(parseRunSearch({ step: "first", fork: 0, view: "map" })).toEqual({});
});
