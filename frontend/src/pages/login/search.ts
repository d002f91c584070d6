/** Where to go after the login. */
export interface LoginSearch {
  next?: string;
}

/** Only a path of this very site, so that no link can send somebody elsewhere. */
export function parseLoginSearch(search: Record<string, unknown>): LoginSearch {
  const { next } = search;
  return typeof next === "string" && /^\/(?![/\\])/.test(next) ? { next } : {};
}
