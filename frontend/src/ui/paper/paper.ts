// Whether the page is on its way to paper. Lists then contain all of their rows, and folded texts are open.
import { useCallback, useSyncExternalStore } from "react";
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

function watchPaper(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export function usePaper(): boolean {
  return useSyncExternalStore(watchPaper, () => isPaper);
}

/** What the media queries were on the screen. */
const screenMatches = new Map<string, boolean>();

/**
 * Whether a media query matches the screen. Paper is narrow, too, but the layout may not change while the browser
 * prints it: what was on the screen would be missing, and its pages would stay empty.
 */
export function useScreenQuery(query: string): boolean {
  const watch = useCallback(
    (watcher: () => void) => {
      const media = window.matchMedia(query);
      media.addEventListener("change", watcher);
      const unwatchPaper = watchPaper(watcher);
      return () => {
        media.removeEventListener("change", watcher);
        unwatchPaper();
      };
    },
    [query],
  );
  return useSyncExternalStore(watch, () => {
    const matches = (isPaper ? screenMatches.get(query) : undefined) ?? window.matchMedia(query).matches;
    screenMatches.set(query, matches);
    return matches;
  });
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
