/** The two runs of a comparison, by any of their ids. Either side may be missing. */
export interface CompareSearch {
  base?: string;
  candidate?: string;
}

export function parseCompareSearch(search: Record<string, unknown>): CompareSearch {
  const { base, candidate } = search;
  return {
    ...(isName(base) && { base: String(base) }),
    ...(isName(candidate) && { candidate: String(candidate) }),
  };
}

/** The router parses an external id of digits as a number. */
function isName(value: unknown): value is string | number {
  return (typeof value === "string" && value !== "") || typeof value === "number";
}
