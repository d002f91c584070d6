export type LeftView = "tree" | "graph";

/** The state of the run page that its address holds: a link opens the same step in the same view. */
export interface RunSearch {
  step?: number;
  fork?: boolean;
  view?: LeftView;
}

export function parseRunSearch(raw: Record<string, unknown>): RunSearch {
  const search: RunSearch = {};
  const step = Number(raw["step"]);
  if (Number.isInteger(step) && step > 0) search.step = step;
  if (raw["fork"] === true || raw["fork"] === "1" || raw["fork"] === 1) search.fork = true;
  if (raw["view"] === "graph") search.view = "graph";
  return search;
}
