import { expect, test } from "vitest";
import { nextSort, sortDirection, sortWords } from "./sort";

test("clicks on a column go through its orders", () => {
  expect(nextSort(undefined, "cost")).toBe("-cost");
  expect(nextSort("-cost", "cost")).toBe("cost");
  expect(nextSort("cost", "cost")).toBeUndefined();
  expect(nextSort("cost", "outcome")).toBe("outcome");
});

test("only the column that decides has a direction", () => {
  expect([sortDirection("-cost", "cost"), sortDirection("cost", "cost"), sortDirection("cost", "name")]).toEqual([
    "descending",
    "ascending",
    "none",
  ]);
});

test("words of an order", () => {
  expect([sortWords("-duration"), sortWords("outcome"), sortWords(undefined), sortWords("size")]).toEqual([
    "longest first",
    "failed first",
    "recently added first",
    "recently added first",
  ]);
});
