// A proof as it is being asked for, and the request that it stands for.
import type { SparseProof } from "@/api/proofs";
import { checksOf, checksProblem, type CheckDraft } from "@/components/checks/draft";
import type { QuestionKind } from "./words";

export interface ProofDraft {
  question: QuestionKind;
  checks: CheckDraft[];
  probes: number;
  liveCalls: number;
  maxCost: number | null;
  repeats: number;
}

export const FIRST_DRAFT: ProofDraft = {
  question: "answer",
  checks: [{ kind: "contains", text: "" }],
  probes: 200,
  liveCalls: 0,
  maxCost: null,
  repeats: 10,
};

export function asksForChecks(question: QuestionKind): boolean {
  return question === "check" || question === "score";
}

/** What cannot be sent yet, in one sentence; null when all of it can. */
export function unfinished(draft: ProofDraft): string | null {
  if (!asksForChecks(draft.question)) return null;
  return checksOf(draft.checks).length === 0 ? "Say what to check." : checksProblem(draft.checks);
}

export function toProof(draft: ProofDraft): SparseProof {
  return {
    question: draft.question,
    ...(asksForChecks(draft.question) && { checks: checksOf(draft.checks) }),
    budget: {
      probes: draft.probes,
      live_calls: draft.liveCalls,
      cost_usd: draft.maxCost,
      repeats: draft.repeats,
    },
  };
}
