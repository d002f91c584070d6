/** Where to go after the login. */
export interface LoginSearch {
  next?: string;
}

/** Only a path on this site, so that no link can redirect to another one. */
export function parseLoginSearch(search: Record<string, unknown>): LoginSearch {
  const { next } = search;
  return typeof next === "string" && /^\/(?![/\\])/.test(next) ? { next } : {};
}
