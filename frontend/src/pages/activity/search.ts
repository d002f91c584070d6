import type { Activity } from "@/api/schema";

export const KINDS = {
  replay: "Replays",
  diff: "Diffs",
  proof: "Proofs",
  experiment: "Experiments",
  bisection: "Bisections",
  calibration: "Calibrations",
} satisfies Record<Activity["kind"], string>;

export type Kind = keyof typeof KINDS;

/** The state of the activity list that its address stores: the kind to show, or all. */
export interface ActivitySearch {
  kind?: Kind;
}

export function parseActivitySearch({ kind }: Record<string, unknown>): ActivitySearch {
  return typeof kind === "string" && Object.hasOwn(KINDS, kind) ? { kind: kind as Kind } : {};
}
