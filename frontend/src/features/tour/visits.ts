// Whether this browser has closed the tour.
const KEY = "first-visit-closed";

/** A browser that blocks its storage would show the tour at each visit, so it counts as closed. */
export function isTourClosed(): boolean {
  try {
    return window.localStorage.getItem(KEY) === "true";
  } catch {
    return true;
  }
}

export function closeTour(): void {
  if (!isTourClosed()) window.localStorage.setItem(KEY, "true");
}
