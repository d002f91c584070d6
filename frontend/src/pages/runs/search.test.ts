import { expect, test } from "vitest";
import { choices, isFiltered, parseRunsSearch, toFilter, withChoices, withoutFilters } from "./search";

test("keeps known parameters only", () => {
  expect(parseRunsSearch({ q: "refund", status: "failed", max_cost: "0.5", colour: "red", app: "" })).toEqual({
    q: "refund",
    status: "failed",
    max_cost: 0.5,
  });
});

test("drops an invalid cost", () => {
  expect(parseRunsSearch({ min_cost: "cheap" })).toEqual({});
});

test("joins filter choices into one value", () => {
  const search = withChoices({ q: "x" }, "app", ["desk", "tau"]);
  expect(search).toEqual({ q: "x", app: "desk,tau" });
  expect(choices(search, "app")).toEqual(["desk", "tau"]);
  expect(withChoices(search, "app", [])).toEqual({ q: "x" });
  expect(toFilter({ app: "desk", min_cost: 0 })).toEqual({ app: "desk", min_cost: "0", forks: "nested" });
});

test("forks are below their first run unless the address says otherwise", () => {
  expect(toFilter({ forks: "listed", columns: "app" })).toEqual({ forks: "listed" });
  expect(toFilter({})).toEqual({ forks: "nested" });
});

test("clearing the filters keeps the order and the columns", () => {
  expect(withoutFilters({ app: "desk", sort: "cost", columns: "app", q: "x" })).toEqual({
    sort: "cost",
    columns: "app",
  });
});

test("a sort order is no filter", () => {
  expect(isFiltered(parseRunsSearch({ sort: "outcome" }))).toBe(false);
  expect(isFiltered(parseRunsSearch({ sort: "outcome", outcome: "failed" }))).toBe(true);
});
