/** The two runs of a comparison: ids, or anything else that names a run. Either side may still be missing. */
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

/** The router reads an external id of digits as a number. */
function isName(value: unknown): value is string | number {
  return (typeof value === "string" && value !== "") || typeof value === "number";
}
