import type { StepFilter } from "./steps/tree";
import { isRunView, type RunView } from "./views";

/** The state of the run page that its address stores: step, fork, view and filter of the steps. */
export interface RunSearch {
  step?: number;
  /** The step of the open fork. */
  fork?: number;
  /** Without one, the run decides: a chat opens as a transcript. */
  view?: RunView;
  /** The replay whose changes the fork starts with. */
  from_session?: string;
  /** The words that listed steps contain. */
  find?: string;
  /** The types, labels and statuses of listed steps, each joined by commas. */
  types?: string;
  labels?: string;
  statuses?: string;
}

/** The filter of the steps. A value that no step has finds nothing, and the menu removes it. */
export function filterOf({ find = "", types, labels, statuses }: RunSearch): StepFilter {
  return {
    text: find,
    types: listOf(types) as StepFilter["types"],
    marks: listOf(labels) as StepFilter["marks"],
    statuses: listOf(statuses) as StepFilter["statuses"],
  };
}

const listOf = (text: string | undefined) => text?.split(",").filter(Boolean) ?? [];

/** The address of a filter, without what it does not filter by. */
export function filterSearch(filter: StepFilter): { [Name in keyof RunSearch]: RunSearch[Name] | undefined } {
  const list = (values: readonly string[]) => (values.length > 0 ? values.join(",") : undefined);
  return {
    find: filter.text.trim() || undefined,
    types: list(filter.types),
    labels: list(filter.marks),
    statuses: list(filter.statuses),
  };
}

function sequenceNo(value: unknown): number | null {
  const number = Number(value);
  return Number.isInteger(number) && number > 0 ? number : null;
}

/** The view and the selected step, if a revision with this number of steps has it. An open fork belongs to its run. */
export function searchInRevision({ step, view }: RunSearch, steps: number): RunSearch {
  return { ...(step !== undefined && step <= steps && { step }), ...(view && { view }) };
}

/** A text of the address; the router parses digits as a number. */
function textOf(raw: Record<string, unknown>, name: "find" | "types" | "labels" | "statuses"): RunSearch {
  const value = raw[name];
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && text !== "" ? { [name]: text } : {};
}

export function parseRunSearch(raw: Record<string, unknown>): RunSearch {
  const step = sequenceNo(raw["step"]);
  const fork = sequenceNo(raw["fork"]);
  return {
    ...(step !== null && { step }),
    ...(fork !== null && { fork }),
    ...(isRunView(raw["view"]) && { view: raw["view"] }),
    ...(typeof raw["from_session"] === "string" && fork !== null && { from_session: raw["from_session"] }),
    ...textOf(raw, "find"),
    ...textOf(raw, "types"),
    ...textOf(raw, "labels"),
    ...textOf(raw, "statuses"),
  };
}

/** Omit what is undefined, so that addresses stay short. */
export function omitUndefined(search: { [Name in keyof RunSearch]?: RunSearch[Name] | undefined }): RunSearch {
  return {
    ...(search.step !== undefined && { step: search.step }),
    ...(search.fork !== undefined && { fork: search.fork }),
    ...(search.view !== undefined && { view: search.view }),
    ...(search.from_session !== undefined && { from_session: search.from_session }),
    ...(search.find !== undefined && { find: search.find }),
    ...(search.types !== undefined && { types: search.types }),
    ...(search.labels !== undefined && { labels: search.labels }),
    ...(search.statuses !== undefined && { statuses: search.statuses }),
  };
}
