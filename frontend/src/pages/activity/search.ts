import type { Activity, Outcome } from "@/api/schema";
import { OUTCOMES } from "@/domain/runs/outcome";
import { toInstant } from "@/features/filters/timeRange";

export const KINDS = {
  replay: "Replays",
  diff: "Diffs",
  proof: "Proofs",
  experiment: "Experiments",
  bisection: "Bisections",
  calibration: "Calibrations",
} satisfies Record<Activity["kind"], string>;

export const STATES = {
  waiting: "Waiting for you",
  running: "Running",
  completed: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
} satisfies Record<Activity["state"], string>;

export type Kind = keyof typeof KINDS;

/** The state of the activity list that its address stores: its filters. */
export interface ActivitySearch {
  kind?: Kind;
  state?: Activity["state"];
  outcome?: Outcome;
  /** Name of who started it. */
  author?: string;
  q?: string;
  /** A time span until now, such as `24h`, or a day. */
  start?: string;
}

export function parseActivitySearch(search: Record<string, unknown>): ActivitySearch {
  const values: Record<keyof ActivitySearch, string | undefined> = {
    kind: key(KINDS, search.kind),
    state: key(STATES, search.state),
    outcome: key(OUTCOMES, search.outcome),
    author: words(search.author),
    q: words(search.q),
    start: toInstant(words(search.start) ?? "", "since") === null ? undefined : words(search.start),
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

export const isFiltered = (search: ActivitySearch): boolean => Object.keys(search).length > 0;

function key(options: object, value: unknown): string | undefined {
  return typeof value === "string" && Object.hasOwn(options, value) ? value : undefined;
}

/** A text of the address. The router parses a word of digits as a number. */
function words(value: unknown): string | undefined {
  return (typeof value === "string" && value !== "") || typeof value === "number" ? String(value) : undefined;
}
