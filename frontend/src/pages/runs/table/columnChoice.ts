// Which columns the list shows: those that the user chose, as far as they fit.

/** Columns that can be hidden, in the order of the table, with their widths. */
const OPTIONAL = {
  app: 96,
  source: 84,
  model: 116,
  labels: 92,
  started: 88,
  duration: 76,
  steps: 52,
  errors: 52,
  tokens: 70,
  cost: 64,
} as const;

export type OptionalColumn = keyof typeof OPTIONAL;
export const DEFAULT_COLUMNS: readonly OptionalColumn[] = [
  "app",
  "model",
  "labels",
  "started",
  "duration",
  "tokens",
  "cost",
];

// The first of these that is shown goes first when space shrinks.
const DROP_ORDER: readonly OptionalColumn[] = [
  "source",
  "errors",
  "steps",
  "app",
  "model",
  "tokens",
  "labels",
  "duration",
  "cost",
  "started",
];
const GAP = 12;
const CHECKBOX = 24;
const OUTCOME = 116;
const MENU = 28;
const PADDING = 22;
/** Below this width, the name would tell too little. */
const LEAST_NAME = 360;

/** The chosen columns that leave enough space for the name, in the order of the table; `width` is for text of 16 px. */
export function fittingColumns(choice: readonly OptionalColumn[], width: number): OptionalColumn[] {
  const columns = new Set(choice);
  for (const column of DROP_ORDER) {
    if (nameWidth(columns, width) >= LEAST_NAME) break;
    columns.delete(column);
  }
  return optionalColumns().filter((column) => columns.has(column));
}

const rem = (pixels: number) => `${pixels / 16}rem`;

/** The widths of all columns as a CSS grid. */
export function gridTemplate(columns: readonly OptionalColumn[]): string {
  const widths = columns.map((column) => rem(OPTIONAL[column]));
  return [rem(CHECKBOX), rem(OUTCOME), "minmax(0, 1fr)", ...widths, rem(MENU)].join(" ");
}

export function optionalColumns(): OptionalColumn[] {
  return Object.keys(OPTIONAL) as OptionalColumn[];
}

/** Parse names of columns joined by commas; without a known name, the default. */
export function parseColumns(text: string | null | undefined): readonly OptionalColumn[] {
  if (text === "none") return [];
  const names = new Set(text?.split(","));
  const columns = optionalColumns().filter((column) => names.has(column));
  return columns.length > 0 ? columns : DEFAULT_COLUMNS;
}

export function formatColumns(columns: readonly OptionalColumn[]): string {
  return columns.length > 0 ? columns.join(",") : "none";
}

function nameWidth(columns: ReadonlySet<OptionalColumn>, width: number): number {
  const widths = [...columns].reduce((sum, column) => sum + OPTIONAL[column] + GAP, 0);
  return width - PADDING - CHECKBOX - OUTCOME - MENU - 3 * GAP - widths;
}
