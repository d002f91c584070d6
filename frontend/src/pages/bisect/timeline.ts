// The tried steps of a bisection along the run. Pure.
import type { BisectionView, ForkResult } from "@/api/schema";

/** Where a step lies: the run can still pass, is lost, or passes from one end of the interval and not from the other. */
export type Zone = "before" | "interval" | "after" | "unknown";

export interface TriedStep {
  fork: ForkResult;
  /** Candidate steps directly before this one that were not tried. */
  skippedSteps: number;
  /** Where the gap before this step lies. */
  gapZone: Zone;
  role: "commit" | "kept" | "earliest" | null;
}

/** The tried steps in order, with the gaps between them and their role in the result. */
export function triedSteps(view: Pick<BisectionView, "result" | "fork_steps">): TriedStep[] {
  const { forks, commit } = view.result;
  const places = new Map(view.fork_steps.map((number, place) => [number, place]));
  let lastPlace = -1;
  return forks.map((fork) => {
    const number = fork.step.sequence_no;
    const place = places.get(number) ?? lastPlace + 1;
    const skippedSteps = place - lastPlace - 1;
    lastPlace = place;
    return { fork, skippedSteps, gapZone: gapZone(commit, number), role: roleOf(commit, number) };
  });
}

type Commit = BisectionView["result"]["commit"];

/** Where the gap between the previous tried step and this one lies. */
function gapZone(commit: Commit, number: number): Zone {
  if (!commit) return "unknown";
  if (number <= commit.step.sequence_no) return "before";
  return commit.kept && number > commit.kept.sequence_no ? "after" : "interval";
}

function roleOf(commit: Commit, number: number): TriedStep["role"] {
  if (number === commit?.step.sequence_no) return "commit";
  if (number === commit?.kept?.sequence_no) return "kept";
  return number === commit?.earliest.sequence_no ? "earliest" : null;
}

/** Candidate steps after the last tried one. */
export function stepsAfterLast({ result, fork_steps }: Pick<BisectionView, "result" | "fork_steps">): number {
  const last = result.forks.at(-1)?.step.sequence_no;
  return last === undefined ? 0 : fork_steps.filter((number) => number > last).length;
}
