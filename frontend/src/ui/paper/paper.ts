// Whether the page is on its way to paper. Lists then contain all of their rows, and folded texts are open.
import { useSyncExternalStore } from "react";
import { flushSync } from "react-dom";

/** Rows of a list that are printed at most; a browser needs minutes for the pages of 10,000. */
export const PAPER_ROWS = 1000;

let isPaper = false;
const watchers = new Set<() => void>();

// The browser measures the page right after the event, so the rows must be there when it ends.
function setPaper(next: boolean): void {
  isPaper = next;
  flushSync(() => {
    for (const watcher of watchers) watcher();
  });
}

window.addEventListener("beforeprint", () => setPaper(true));
window.addEventListener("afterprint", () => setPaper(false));

export function usePaper(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => isPaper,
  );
}

/** A row of a virtual list: its index, and where it begins on the screen. */
export interface ListRow {
  index: number;
  start: number;
}

/** The rows to render: on paper all of them, which follow each other there without a position. */
export function paperRows(isPaper: boolean, count: number, visibleRows: readonly ListRow[]): readonly ListRow[] {
  return isPaper
    ? Array.from({ length: Math.min(count, PAPER_ROWS) }, (_, index) => ({ index, start: 0 }))
    : visibleRows;
}
