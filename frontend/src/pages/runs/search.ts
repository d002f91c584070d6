/** The state of the runs list as its address holds it. Several values of one filter are joined by commas. */
export interface RunsSearch {
  q?: string;
  app?: string;
  environment?: string;
  status?: string;
  source?: string;
  tag?: string;
  label?: string;
  since?: string;
  until?: string;
  min_cost?: number;
  max_cost?: number;
}
const texts = ["q", "app", "environment", "status", "source", "tag", "label", "since", "until"] as const;
const numbers = ["min_cost", "max_cost"] as const;

/** What an address says, without what this page does not know. */
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

/** The search as the server's query parameters. */
export function toFilter(search: RunsSearch): Record<string, string> {
  return Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]));
}

export function isFiltered(search: RunsSearch): boolean {
  return Object.keys(search).length > 0;
}
