import type { Activity } from "@/api/schema";
import type { Mark } from "@/domain/steps/labels";

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

interface StateWords {
  mark: Mark | "accent";
  words: string;
}

const STATES: Record<Activity["state"], StateWords> = {
  waiting: { mark: "simulated", words: "Waiting for you" },
  running: { mark: "accent", words: "Running" },
  completed: { mark: "live", words: "Done" },
  failed: { mark: "failed", words: "Failed" },
  cancelled: { mark: "live", words: "Cancelled" },
};

export function stateWords({ state, progress }: Activity): StateWords {
  const { mark, words } = STATES[state];
  return { mark, words: progress ? `${words}: ${progress.finished} of ${progress.total}` : words };
}
