import { describe, expect, it } from "vitest";
import type { CellView } from "@/api/schema";
import { commonSettings, grids, layOut, varyingAxes } from "./grid";

const cells = (axes: Record<string, string[]>): CellView[] =>
  Object.entries(axes)
    .reduce<CellView["settings"][]>(
      (lists, [axis, values]) => lists.flatMap((list) => values.map((value) => [...list, { axis, value }])),
      [[]],
    )
    .map((settings, index) => ({ cell: index + 1, settings }) as CellView);

const numbers = (all: CellView[], rows?: string, columns?: string) =>
  grids(all, layOut(varyingAxes(all), rows, columns)).map(({ rest, rows }) => ({
    rest: rest.map(({ value }) => value),
    rows: rows.map((row) => row.cells.map((cell) => cell?.cell)),
  }));

describe("the grid of an experiment", () => {
  it("has models as columns, and leaves out axes with one value", () => {
    const all = cells({ model: ["a", "b"], prompt: ["x", "y", "z"], temperature: ["0"] });
    expect(numbers(all)).toEqual([
      {
        rest: [],
        rows: [
          [1, 4],
          [2, 5],
          [3, 6],
        ],
      },
    ]);
    expect(commonSettings(all)).toEqual([{ axis: "temperature", value: "0" }]);
  });

  it("has any two axes as rows and columns, and one grid per value of the others", () => {
    const all = cells({ model: ["a", "b"], prompt: ["x", "y"], temperature: ["0", "1"] });
    expect(numbers(all).map(({ rest }) => rest)).toEqual([["0"], ["1"]]);
    expect(numbers(all)[0]?.rows).toEqual([
      [1, 5],
      [3, 7],
    ]);
    expect(numbers(all, "model", "temperature")).toEqual([
      {
        rest: ["x"],
        rows: [
          [1, 2],
          [5, 6],
        ],
      },
      {
        rest: ["y"],
        rows: [
          [3, 4],
          [7, 8],
        ],
      },
    ]);
    expect(numbers(all, "model")[0]?.rows).toHaveLength(2);
  });

  it("lists a long axis in rows", () => {
    const all = cells({ model: Array.from({ length: 9 }, (_, index) => `m${index}`) });
    expect(numbers(all)[0]?.rows).toHaveLength(9);
    expect(numbers(cells({ model: ["a", "b"] }))[0]?.rows).toEqual([[1, 2]]);
  });

  it("is one cell without axes", () => {
    expect(numbers(cells({}))).toEqual([{ rest: [], rows: [[1]] }]);
  });
});
