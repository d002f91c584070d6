// The filters of the list, in the order of their buttons.
import type { RunsSearch } from "../search";

export const FILTER_TITLES = {
  time: "Started",
  outcome: "Outcome",
  app: "App",
  tag: "Tag",
  environment: "Environment",
  status: "Status",
  source: "Source",
  label: "Label",
  judgement: "Judgement",
  cost: "Cost",
} as const;

export type FilterName = keyof typeof FILTER_TITLES;

const PARAMETERS: Readonly<Record<FilterName, readonly (keyof RunsSearch)[]>> = {
  time: ["since", "until"],
  outcome: ["outcome"],
  app: ["app"],
  tag: ["tag"],
  environment: ["environment"],
  status: ["status"],
  source: ["source"],
  label: ["label"],
  judgement: ["judgement", "judgement_kind", "judgement_source", "min_score", "max_score"],
  cost: ["min_cost", "max_cost"],
};

/** The filters that have a value. */
export function activeFilters(search: RunsSearch): ReadonlySet<FilterName> {
  const names = Object.keys(FILTER_TITLES) as FilterName[];
  return new Set(names.filter((name) => PARAMETERS[name].some((parameter) => search[parameter] !== undefined)));
}
