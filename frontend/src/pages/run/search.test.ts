import { expect, test } from "vitest";
import { filterOf, filterSearch, parseRunSearch, searchInRevision } from "./search";
import { noFilter } from "./steps/tree";

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

test("stores the filter of the steps", () => {
  const filter = { text: "refund", types: ["tool", "model"] as const, marks: [], statuses: ["error"] as const };
  const search = filterSearch(filter);
  expect(search).toEqual({ find: "refund", types: "tool,model", labels: undefined, statuses: "error" });
  expect(filterOf(parseRunSearch(search))).toEqual(filter);
  expect(filterOf(parseRunSearch({ find: 4200 }))).toEqual({ ...noFilter, text: "4200" });
});
