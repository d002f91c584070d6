// What passes a run of a bisection.
import type { BisectRequest, RunDetail } from "@/api/schema";
import type { CheckDraft } from "@/domain/checks/draft";
import type { JudgementDraft } from "@/domain/checks/passQuestion";

export type PassQuestion = BisectRequest["question"];

/** The question to begin with: the outcome if validators decided it, because a replay can run them again. */
export function firstQuestion(run: Pick<RunDetail, "outcome" | "outcome_basis"> | undefined): PassQuestion {
  const hasOutcome = run?.outcome === "passed" || run?.outcome === "failed";
  return hasOutcome && run.outcome_basis === "validator" ? "outcome" : "check";
}

/** The checks to begin with: an outcome needs none. */
export const firstChecks = (question: PassQuestion): CheckDraft[] =>
  question === "check" ? [{ kind: "contains", text: "" }] : [];

/** What to enter before the cost can be estimated. Null if nothing is missing. */
export function missingWords(question: PassQuestion, checks: number, choice: JudgementDraft): string | null {
  if (question === "check" && checks === 0) return "Add a check to see the estimated cost.";
  return question === "judgement" && !choice.judgement.trim() ? "Name the judgement to see the estimated cost." : null;
}
