/** Rows kept in sight around the one that was moved to. */
const CONTEXT = 2;

/**
 * Where to scroll so that a row is in sight: nowhere if it is, by little if it is near, to its middle if it is far.
 * All in pixels; `null` leaves the list where it is.
 */
export function scrollTo(row: number, size: number, view: { top: number; height: number }): number | null {
  const top = row * size;
  const room = Math.min(CONTEXT * size, Math.max(0, (view.height - size) / 2));
  if (top >= view.top + room && top + size <= view.top + view.height - room) return null;
  const far = top < view.top - view.height || top > view.top + 2 * view.height;
  if (far) return Math.max(0, top - (view.height - size) / 2);
  return Math.max(0, top < view.top + room ? top - room : top + size + room - view.height);
}
