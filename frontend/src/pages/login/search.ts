/** Where to go after login, and whether an earlier session ended. */
export interface LoginSearch {
  next?: string;
  ended?: true;
}

/** Accept only paths on this site, to prevent open redirects. */
export function parseLoginSearch(search: Record<string, unknown>): LoginSearch {
  const { next, ended } = search;
  return {
    ...(typeof next === "string" && /^\/(?![/\\])/.test(next) && { next }),
    ...(ended === true && { ended }),
  };
}
