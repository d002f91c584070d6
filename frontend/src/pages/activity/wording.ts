import type { Activity } from "@/api/schema";
import type { Mark } from "@/domain/steps/labels";
import { isFiltered, KINDS, STATES, type ActivitySearch, type Kind } from "./search";

/** How to get the first entry of a kind. */
const FIRST_STEPS: Record<Kind, string> = {
  replay: "Open a run, press f at the step where it went wrong, change one thing and replay.",
  diff: "Select two runs and press Compare, or press What changed? on a replay.",
  proof: "Open a diff and press Prove it.",
  experiment: "Open a run, press f at a step, and choose Experiment next to Replay.",
  bisection: "Open a failed run and choose Bisect in its menu.",
  calibration: "Select two recordings of the same task and choose Find fields to ignore.",
};

/** What an empty list shows: how to get a first entry, unless other filters hide some. */
export function emptyWords({ kind, ...filters }: ActivitySearch): { title: string; text: string } {
  if (isFiltered(filters)) return { title: "No activity matches", text: "Change or clear a filter to see more." };
  return kind
    ? { title: `No ${KINDS[kind].toLowerCase()} yet`, text: FIRST_STEPS[kind] }
    : { title: "Nothing here yet", text: FIRST_STEPS.replay };
}

const fork = ({ fork_sequence_no }: Activity) =>
  fork_sequence_no === null ? "" : `fork from step ${fork_sequence_no}`;

/** What an entry does, in a few words. */
export function subjectWords(entry: Activity): string {
  if (entry.subject) return entry.subject;
  switch (entry.kind) {
    case "replay":
      return `Replay from step ${entry.fork_sequence_no ?? 1}`;
    case "diff":
      return `Compared with ${fork(entry) || `“${entry.candidate_name}”`}`;
    case "proof":
      return `What made the ${fork(entry) || "candidate"} different`;
    case "experiment":
      return `Matrix of forks from step ${entry.fork_sequence_no ?? 1}`;
    case "bisection":
      return "Where it went wrong";
    case "calibration":
      return `Matched calls with “${entry.candidate_name}”`;
    default:
      return entry.kind satisfies never;
  }
}

/** What came of it, after its subject. A subject with a colon introduces it: “Probably chance: the runs are two trials”. */
export function findingWords(entry: Activity): string {
  if (!entry.finding) return "";
  return subjectWords(entry).endsWith(":") ? ` ${entry.finding}` : ` → ${entry.finding}`;
}

const MARKS: Record<Activity["state"], Mark | "accent"> = {
  waiting: "simulated",
  running: "accent",
  completed: "live",
  failed: "failed",
  cancelled: "live",
};

export function stateWords({ state, progress }: Activity): { mark: Mark | "accent"; words: string } {
  const words = STATES[state];
  return { mark: MARKS[state], words: progress ? `${words}: ${progress.finished} of ${progress.total}` : words };
}
