import { expect, test } from "vitest";
import { activeFilters } from "./filterNames";

test("a filter is active with any of its values", () => {
  expect([...activeFilters({ until: "2026-01-01", min_score: 0, q: "x", sort: "cost" })]).toEqual([
    "time",
    "judgement",
  ]);
});
