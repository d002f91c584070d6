// The view with which the list opens in this browser.
import type { RunsSearch } from "../search";
import { parseViewQuery } from "./viewQuery";

const KEY = "runs-default-view";

/** The query of the default view; null without one, or if the browser blocks its storage. */
export function defaultViewQuery(): string | null {
  try {
    return window.localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function defaultViewSearch(): RunsSearch | null {
  const query = defaultViewQuery();
  return query === null ? null : parseViewQuery(query);
}

export function storeDefaultView(query: string | null): void {
  if (query === null) window.localStorage.removeItem(KEY);
  else window.localStorage.setItem(KEY, query);
}
