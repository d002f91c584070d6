// The outcome of a run, in one word and with its reason. Only passed runs are green.
import type { RunSummary } from "@/api/schema";

export type OutcomeSource = Pick<RunSummary, "status" | "outcome" | "outcome_reason"> & { errors: number };
export type OutcomeLook = "running" | "passed" | "failed" | "unverified" | "errors" | "ended";

/** The mark of a run: its outcome, or else how it ended. */
export function outcomeLook(run: OutcomeSource): OutcomeLook {
  if (run.status === "running" && run.outcome === "unknown") return "running";
  if (run.outcome !== "unknown") return run.outcome;
  return run.errors > 0 ? "errors" : "ended";
}

export function outcomeWord(run: OutcomeSource): string {
  return run.outcome === "unknown" ? run.status : run.outcome;
}

/** Details for screen readers and tooltips. */
export function outcomeTitle(run: OutcomeSource): string {
  switch (outcomeLook(run)) {
    case "running":
      return "running";
    case "errors":
      return "completed with errors, not judged";
    case "ended":
      return run.status === "partial" ? "partial: the end was not recorded" : "completed, not judged";
    default:
      return run.outcome_reason ? `${run.outcome}: ${run.outcome_reason}` : run.outcome;
  }
}
