// A proof as it is being asked for, and the request that it stands for.
import type { SparseProof } from "@/api/diffs/proofs";
import type { CheapestExperiment, Findings } from "@/api/schema";
import { checksOf, checksProblem, type CheckDraft } from "@/domain/checks/draft";
import type { QuestionKind } from "./wording";

export interface ProofDraft {
  question: QuestionKind;
  checks: CheckDraft[];
  probes: number;
  liveCalls: number | null; // null: as many as the plan says
  maxCost: number | null;
  repeats: number;
}

export const FIRST_DRAFT: ProofDraft = {
  question: "answer",
  checks: [{ kind: "contains", text: "" }],
  probes: 200,
  liveCalls: null,
  maxCost: null,
  repeats: 10,
};

export function needsChecks(question: QuestionKind): boolean {
  return question === "check" || question === "score";
}

/** What cannot be sent yet, in one sentence; null when all of it can. */
export function draftProblem(draft: ProofDraft): string | null {
  if (!needsChecks(draft.question)) return null;
  return checksOf(draft.checks).length === 0 ? "Add a check." : checksProblem(draft.checks);
}

/** `plannedCalls`: the live calls of the plan. Starting the proof accepts their price. */
export function toProof(draft: ProofDraft, plannedCalls: number | null = null): SparseProof {
  return {
    question: draft.question,
    ...(needsChecks(draft.question) && { checks: checksOf(draft.checks) }),
    budget: {
      probes: draft.probes,
      live_calls: draft.liveCalls ?? plannedCalls,
      cost_usd: draft.maxCost,
      repeats: draft.repeats,
    },
  };
}

/** The same question again, with the live calls that would settle it; what was found so far is not made again. */
export function toDecidingProof({ question }: Findings, { live_calls: calls }: CheapestExperiment): SparseProof {
  return {
    ...toProof(FIRST_DRAFT, calls),
    question: question.kind,
    ...(question.checks.length > 0 && { checks: question.checks }),
  };
}
