import type { Activity } from "@/api/schema";
import type { Mark } from "@/domain/steps/labels";
import { STATES } from "./search";

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
