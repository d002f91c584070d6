// The combinations of an experiment as a grid of two axes; further axes make several grids. Pure.
import type { CellView, Setting } from "@/api/schema";

export interface GridAxis {
  name: string;
  values: readonly string[];
}

export interface Grid {
  /** The values of the axes beyond rows and columns. */
  rest: readonly Setting[];
  rows: readonly GridRow[];
}

interface GridRow {
  value: string;
  cells: readonly (CellView | null)[];
}

export interface Layout {
  rows: GridAxis | null;
  columns: GridAxis | null;
  rest: readonly GridAxis[];
}

type Settings = Pick<CellView, "settings">;

/** The axes with more than one value, in the order of the request. */
export function varyingAxes(cells: readonly Settings[]): GridAxis[] {
  const names = cells[0]?.settings.map(({ axis }) => axis) ?? [];
  return names
    .map((name) => ({ name, values: [...new Set(cells.map((cell) => valueOn(cell, name)))] }))
    .filter(({ values }) => values.length > 1);
}

/** The settings that all combinations share. */
export function commonSettings(cells: readonly Settings[]): readonly Setting[] {
  const varying = new Set(varyingAxes(cells).map(({ name }) => name));
  return cells[0]?.settings.filter(({ axis }) => !varying.has(axis)) ?? [];
}

// More columns leave no room for the figures of a cell.
const MAX_COLUMNS = 6;

/** Rows and columns: those that the user chose, else the models as columns, where they fit. */
export function layOut(axes: readonly GridAxis[], rowsName?: string, columnsName?: string): Layout {
  const find = (name: string | undefined) => axes.find((axis) => axis.name === name);
  const fits = (axis: GridAxis) => axis.values.length <= MAX_COLUMNS;
  const columns =
    find(columnsName) ??
    axes.find((axis) => axis.name === "model" && axis.name !== rowsName && fits(axis)) ??
    axes.findLast((axis) => axis.name !== rowsName && fits(axis)) ??
    null;
  const otherAxes = axes.filter((axis) => axis !== columns);
  const rows = otherAxes.find((axis) => axis.name === rowsName) ?? otherAxes[0] ?? null;
  return { rows, columns, rest: otherAxes.filter((axis) => axis !== rows) };
}

/** One grid for each combination of the remaining axes. */
export function grids(cells: readonly CellView[], { rows, columns, rest }: Layout): Grid[] {
  return combinations(rest).map((settings) => {
    const members = cells.filter((cell) => settings.every(({ axis, value }) => valueOn(cell, axis) === value));
    return {
      rest: settings,
      rows: (rows?.values ?? [""]).map((value) => ({
        value,
        cells: (columns?.values ?? [""]).map(
          (column) =>
            members.find(
              (cell) =>
                (!rows || valueOn(cell, rows.name) === value) && (!columns || valueOn(cell, columns.name) === column),
            ) ?? null,
        ),
      })),
    };
  });
}

function combinations(axes: readonly GridAxis[]): Setting[][] {
  return axes.reduce<Setting[][]>(
    (lists, { name, values }) => lists.flatMap((list) => values.map((value) => [...list, { axis: name, value }])),
    [[]],
  );
}

function valueOn({ settings }: Settings, name: string): string {
  return settings.find(({ axis }) => axis === name)?.value ?? "";
}
