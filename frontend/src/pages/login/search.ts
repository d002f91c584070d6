/** Where to go after login, and whether an earlier session ended. */
export interface LoginSearch {
  next?: string;
  expiry?: true;
}

/** Accept only paths on this site, to prevent open redirects. */
export function parseLoginSearch(search: Record<string, unknown>): LoginSearch {
  const { next, expiry } = search;
  return {
    ...(typeof next === "string" && /^\/(?![/\\])/.test(next) && { next }),
    ...(expiry === true && { expiry }),
  };
}
