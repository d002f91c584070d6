// The query of a saved view: the address of the list in a form that can be compared.
import { parseRunsSearch, type RunsSearch } from "../search";

export function formatViewQuery(search: RunsSearch): string {
  const entries = Object.entries(search).map(([name, value]) => [name, String(value)]);
  return new URLSearchParams(entries.sort(([first = ""], [second = ""]) => first.localeCompare(second))).toString();
}

export function parseViewQuery(query: string): RunsSearch {
  return parseRunsSearch(Object.fromEntries(new URLSearchParams(query)));
}
