// A proof request while it is edited.
import type { SparseProof } from "@/api/diffs/proofs";
import type { CheapestExperiment, Engine, Findings } from "@/api/schema";
import { checksOf, checksProblem, type CheckDraft } from "@/domain/checks/draft";
import { isOutcomeQuestion, judgementOf, NO_JUDGEMENT, type JudgementDraft } from "@/domain/checks/passQuestion";
import type { QuestionKind } from "./wording";

export interface ProofDraft {
  question: QuestionKind;
  engine: Engine;
  checks: CheckDraft[];
  choice: JudgementDraft;
  probes: number;
  /** Null: as many as the plan estimates. */
  liveCalls: number | null;
  maxCost: number | null;
  repeats: number;
}

export const FIRST_DRAFT: ProofDraft = {
  question: "answer",
  engine: "follow",
  checks: [{ kind: "contains", text: "" }],
  choice: NO_JUDGEMENT,
  probes: 200,
  liveCalls: null,
  maxCost: null,
  repeats: 10,
};

export function needsChecks(question: QuestionKind): boolean {
  return question === "check" || question === "score";
}

/** Why the draft cannot be sent, in one sentence. Null if it can. */
export function draftProblem(draft: ProofDraft): string | null {
  if (draft.question === "judgement" && !draft.choice.judgement.trim()) return "Name the judgement.";
  if (isOutcomeQuestion(draft.question)) return checksProblem(draft.checks);
  if (!needsChecks(draft.question)) return null;
  return checksOf(draft.checks).length === 0 ? "Add a check." : checksProblem(draft.checks);
}

/** `plannedCalls` are the plan's live calls. Starting the proof accepts their cost. */
export function toProof(draft: ProofDraft, plannedCalls: number | null = null): SparseProof {
  return {
    question: draft.question,
    engine: draft.engine,
    ...((needsChecks(draft.question) || isOutcomeQuestion(draft.question)) && { checks: checksOf(draft.checks) }),
    ...(draft.question === "judgement" && judgementOf(draft.choice)),
    budget: {
      probes: draft.probes,
      live_calls: draft.liveCalls ?? plannedCalls,
      cost_usd: draft.maxCost,
      repeats: draft.repeats,
    },
  };
}

/** The same question with the live calls that would decide it. Earlier results are reused. */
export function toDecidingProof(
  { question, agent_ran: agentRan }: Findings,
  { live_calls: calls }: CheapestExperiment,
): SparseProof {
  return {
    ...toProof({ ...FIRST_DRAFT, engine: agentRan ? "agent" : "follow" }, calls),
    question: question.kind,
    ...(question.checks.length > 0 && { checks: question.checks }),
    ...(question.kind === "judgement" && {
      judgement: question.judgement,
      at_least: question.at_least,
      at_most: question.at_most,
    }),
  };
}
