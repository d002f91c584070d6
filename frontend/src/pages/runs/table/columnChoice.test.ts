import { expect, test } from "vitest";
import { DEFAULT_COLUMNS, fittingColumns, formatColumns, gridTemplate, parseColumns } from "./columnChoice";

test("drops columns as space shrinks, and keeps the name", () => {
  expect(fittingColumns(DEFAULT_COLUMNS, 1340)).toEqual(DEFAULT_COLUMNS);
  expect(fittingColumns(DEFAULT_COLUMNS, 1024)).toEqual(["labels", "started", "duration", "cost"]);
  expect(fittingColumns(DEFAULT_COLUMNS, 834)).toEqual(["started", "cost"]);
  expect(fittingColumns(DEFAULT_COLUMNS, 500)).toEqual([]);
});

test("drops rare columns before the usual ones", () => {
  const columns = fittingColumns(["app", "source", "steps", "errors", "started", "cost"], 900);
  expect(columns).toEqual(["app", "started", "cost"]);
});

test("a grid has the width of each column", () => {
  expect(gridTemplate(["started", "cost"])).toBe("1.5rem 7.25rem minmax(0, 1fr) 5.5rem 4rem 1.75rem");
});

test("reads stored columns", () => {
  expect(parseColumns("cost,unknown,app")).toEqual(["app", "cost"]);
  expect(parseColumns(null)).toBe(DEFAULT_COLUMNS);
  expect(parseColumns(formatColumns([]))).toEqual([]);
  expect(parseColumns(formatColumns(["app", "cost"]))).toEqual(["app", "cost"]);
});
