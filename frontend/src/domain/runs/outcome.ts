// The outcome of a run, in one word and with its reason. Only passed runs are green.
import type { Outcome, RunSummary } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";

export type OutcomeSource = Pick<RunSummary, "status" | "outcome" | "outcome_reason"> &
  Partial<Pick<RunSummary, "source">> & { errors: number };
export type OutcomeLook = "running" | "passed" | "failed" | "unverified" | "errors" | "ended";

export const OUTCOMES: Record<Outcome, string> = {
  passed: "Passed",
  failed: "Failed",
  unverified: "Unverified",
  unknown: "Unknown",
};

/** The mark of a run: its outcome, or else how it ended. */
export function outcomeLook(run: OutcomeSource): OutcomeLook {
  if (run.status === "running" && run.outcome === "unknown") return "running";
  if (run.outcome !== "unknown") return run.outcome;
  return run.errors > 0 ? "errors" : "ended";
}

export function outcomeWord(run: OutcomeSource): string {
  if (outcomeLook(run) !== "running") return OUTCOMES[run.outcome];
  return run.source === "replay" ? "Replaying" : "Recording";
}

/** Details for screen readers and tooltips. */
export function outcomeTitle(run: OutcomeSource): string {
  const detail = outcomeDetail(run);
  return detail ? `${outcomeWord(run)}: ${detail}` : outcomeWord(run);
}

/** Why the run has its outcome. Empty if nothing more is known. */
export function outcomeDetail(run: OutcomeSource): string {
  switch (outcomeLook(run)) {
    case "running":
      return "";
    case "errors":
      return "completed with errors, not judged";
    case "ended":
      return run.outcome_reason || "completed, not judged";
    default:
      return run.outcome_reason;
  }
}

/** What a row says below the outcome. Empty: nothing. */
export function outcomeNote(run: OutcomeSource): string {
  const look = outcomeLook(run);
  if (look === "unverified") return "check not run";
  return look === "errors" ? pluralize(run.errors, "error") : "";
}
