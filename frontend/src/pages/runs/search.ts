import { toInstant } from "@/features/filters/timeRange";

/** The state of the run list that its address stores. Multiple values of a filter are joined by commas. */
export interface RunsSearch {
  q?: string;
  app?: string;
  environment?: string;
  status?: string;
  outcome?: string;
  source?: string;
  tag?: string;
  label?: string;
  // oxlint-disable-next-line project/loose -- a query parameter of the API
  since?: string;
  // oxlint-disable-next-line project/loose -- a query parameter of the API
  until?: string;
  min_cost?: number;
  max_cost?: number;
  /** Conditions on one judgement of the run or of its steps. */
  judgement?: string;
  judgement_source?: string;
  judgement_kind?: string;
  min_score?: number;
  max_score?: number;
  /** Sort order. Newest first by default. */
  sort?: string;
  /** `listed`: forks have rows of their own. They are below their first run by default. */
  forks?: string;
  /** Columns of the table, joined by commas, instead of those that this browser remembers. */
  columns?: string;
}
const texts = [
  "q",
  "app",
  "environment",
  "status",
  "outcome",
  "source",
  "tag",
  "label",
  "judgement",
  "judgement_source",
  "judgement_kind",
  "since",
  "until",
  "sort",
  "forks",
  "columns",
] as const;
/** What the list shows, and how; everything else says which runs. */
const DISPLAY: readonly string[] = ["sort", "forks", "columns"];
const numbers = ["min_cost", "max_cost", "min_score", "max_score"] as const;

/** Parse an address, ignoring unknown parameters. */
export function parseRunsSearch(raw: Record<string, unknown>): RunsSearch {
  const search: RunsSearch = {};
  for (const name of texts) {
    const value = raw[name];
    if (typeof value === "string" && value) search[name] = value;
    if (typeof value === "number") search[name] = String(value);
  }
  for (const name of numbers) {
    const value = Number(raw[name]);
    if (raw[name] !== undefined && raw[name] !== "" && Number.isFinite(value)) search[name] = value;
  }
  return search;
}

/** The search as query parameters of the API. Relative times are rounded to minutes for caching. */
export function toFilter({ columns: _, ...search }: RunsSearch, now: number = Date.now()): Record<string, string> {
  const values = { forks: "nested", ...search };
  const filter = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
  const minute = now - (now % 60_000);
  for (const edge of ["since", "until"] as const) {
    const instant = filter[edge] === undefined ? null : toInstant(filter[edge], edge, minute);
    if (instant) filter[edge] = instant;
    else Reflect.deleteProperty(filter, edge);
  }
  return filter;
}

export function isFiltered(search: RunsSearch): boolean {
  return Object.keys(search).some((name) => !DISPLAY.includes(name));
}

/** The search without its filters. */
export function withoutFilters(search: RunsSearch): RunsSearch {
  return Object.fromEntries(Object.entries(search).filter(([name]) => DISPLAY.includes(name)));
}

export type ChoiceFilter =
  | "app"
  | "environment"
  | "status"
  | "outcome"
  | "source"
  | "tag"
  | "label"
  | "judgement"
  | "judgement_source"
  | "judgement_kind";

export function choices(search: RunsSearch, name: ChoiceFilter): string[] {
  return search[name]?.split(",").filter(Boolean) ?? [];
}

export function withChoices(search: RunsSearch, name: ChoiceFilter, values: readonly string[]): RunsSearch {
  const { [name]: _, ...rest } = search;
  return values.length > 0 ? { ...rest, [name]: values.join(",") } : rest;
}
