import type { KeyboardEvent } from "react";

/** Rows that stay visible around the target. */
const CONTEXT = 2;

/**
 * The scroll position that makes a row visible: minimal if the row is near, centred if it is far. Null if no scrolling
 * is needed. All values are in pixels.
 */
export function scrollTo(row: number, size: number, view: { top: number; height: number }): number | null {
  const top = row * size;
  const room = Math.min(CONTEXT * size, Math.max(0, (view.height - size) / 2));
  if (top >= view.top + room && top + size <= view.top + view.height - room) return null;
  const far = top < view.top - view.height || top > view.top + 2 * view.height;
  if (far) return Math.max(0, top - (view.height - size) / 2);
  return Math.max(0, top < view.top + room ? top - room : top + size + room - view.height);
}

/** Keys that move in a list of steps while it has the focus. Elsewhere they scroll. */
const MOVES: Record<string, number> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 15,
  PageUp: -15,
  Home: -Infinity,
  End: Infinity,
};

export function moveByKey(event: KeyboardEvent, move: (offset: number) => void): void {
  const offset = MOVES[event.key];
  if (offset === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  move(offset);
}
