/** Where to go after login. */
export interface LoginSearch {
  next?: string;
}

/** Accept only paths on this site, to prevent open redirects. */
export function parseLoginSearch(search: Record<string, unknown>): LoginSearch {
  const { next } = search;
  return typeof next === "string" && /^\/(?![/\\])/.test(next) ? { next } : {};
}
