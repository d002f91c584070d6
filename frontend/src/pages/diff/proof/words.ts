/** The closed vocabularies of evidence, as a reader meets them. */
import type {
  CheapestExperiment,
  AtomEvidence,
  Evidence,
  Findings,
  NoiseGate,
  ProbeEvidence,
  ProofProgress,
  ProofRequest,
} from "@/api/schema";
import { counted, money } from "@/components/format";
import type { Mark } from "@/components/labels";

export type QuestionKind = ProofRequest["question"];

export const QUESTIONS: Record<QuestionKind, { label: string; hint: string }> = {
  answer: { label: "The final answer", hint: "as text, without regard to case, spacing and punctuation" },
  answer_exact: { label: "The final answer, to the letter", hint: "any other character counts" },
  answer_facts: { label: "The facts in the answer", hint: "numbers, dates and names, however they are worded" },
  tool_calls: { label: "The tools that were called", hint: "which ones, how often and with what" },
  status: { label: "How the run ended", hint: "completed or failed, and where" },
  check: { label: "A check of yours", hint: "whether the final answer passes all of them" },
  score: { label: "A score of yours", hint: "how many of the checks pass" },
};

export const VERDICTS: Record<Findings["verdict"], string> = {
  single: "One change did it",
  joint: "Several changes together did it",
  over_determined: "Each of several would have done it alone",
  no_effect: "None of the changes did it",
  noise: "Within noise",
  inconclusive: "Not settled",
};

export const PURPOSES: Record<ProbeEvidence["purpose"], string> = {
  reproduce: "does replaying bring back what was recorded",
  apply: "is it enough alone",
  revert: "can it be missing",
  search: "which smallest set is it",
  factorial: "every combination",
  part: "which part of it",
  clamp: "does the effect go through this step",
  repeat: "the same again, by chance",
};

const STAGES: Record<ProofProgress["stage"], string> = {
  noise: "ruling out chance",
  search: "looking for the cause",
  shares: "weighing the changes",
  parts: "looking inside the cause",
  mediators: "following the effect",
  "": "starting",
};

export function stageInWords(progress: ProofProgress): string {
  return progress.doing || STAGES[progress.stage];
}

export const OUTCOMES: Record<ProbeEvidence["outcome"], { words: string; mark: Mark }> = {
  candidate: { words: "as in the candidate", mark: "simulated" },
  base: { words: "as in the base", mark: "exact" },
  other: { words: "something else", mark: "cached" },
  needs_live: { words: "needs a live call", mark: "live" },
  failed: { words: "failed", mark: "failed" },
};

export interface Answer {
  words: string;
  sign: "yes" | "no" | "unknown";
}

/** Whether the change alone is enough, in a word. */
export function enough(atom: AtomEvidence): Answer {
  return answerOf(atom.sufficient, atom);
}

/** Whether the candidate's outcome needs the change, in a word. */
export function needed(atom: AtomEvidence): Answer {
  return answerOf(atom.necessary, atom);
}

function answerOf(tested: boolean | null, atom: AtomEvidence): Answer {
  if (tested !== null) return tested ? { words: "yes", sign: "yes" } : { words: "no", sign: "no" };
  if (atom.certificate) return { words: "no", sign: "no" };
  return { words: "not tested", sign: "unknown" };
}

/** Every change followed by its parts, with its depth. */
export function inOrder(atoms: readonly AtomEvidence[]): { atom: AtomEvidence; depth: number }[] {
  const known = new Set(atoms.map(({ id }) => id));
  const below = (parent: string | null, depth: number): { atom: AtomEvidence; depth: number }[] =>
    atoms
      .filter((atom) => (atom.parent !== null && known.has(atom.parent) ? atom.parent : null) === parent)
      .flatMap((atom) => [{ atom, depth }, ...below(atom.id, depth + 1)]);
  return below(null, 0);
}

/** Whether a change belongs to a smallest set that is enough. */
export function isPrimary(findings: Findings, atom: AtomEvidence): boolean {
  return findings.primary.some((set) => set.includes(atom.id));
}

const STRENGTH: Record<Findings["confidence"], number> = { high: 3, medium: 2, noise: 2, low: 1 };

/** The evidence that the report's verdict rests on: the strongest, of equal ones the newest. */
export function strongest(evidence: readonly Evidence[]): Evidence | null {
  const order = (one: Evidence) => STRENGTH[one.confidence] - (one.verdict === "inconclusive" ? 1 : 0);
  return evidence.reduce<Evidence | null>((best, one) => (!best || order(one) >= order(best) ? one : best), null);
}

/** What the whole took, as one line. */
export function price(findings: Findings): string {
  const replays = counted(findings.replays_cached + findings.replays_live, "replay");
  const split = `${findings.replays_cached} from the recordings, ${findings.replays_live} live`;
  const steps = counted(findings.steps_executed, "step");
  const calls = counted(findings.live_calls, "live call");
  const cost =
    findings.live_calls === 0 ? "free" : findings.cost_usd === null ? "cost unknown" : money(findings.cost_usd);
  return `${replays} (${split}), ${steps} run again, ${calls}, ${cost}`;
}

/** What an experiment would take, as one sentence. */
export function priceOf({ replays, live_calls: calls, cost_usd: cost }: CheapestExperiment): string {
  const price = calls === 0 ? "free" : cost === null ? "cost unknown" : `about ${money(cost)}`;
  return `${counted(replays, "replay")}, ${counted(calls, "live call")}, ${price}.`;
}

/** Whether chance was ruled out, as one line. */
export function chance(noise: NoiseGate): string {
  const runs = noise.base_n + noise.candidate_n;
  const reason = `${noise.reason.charAt(0).toUpperCase()}${noise.reason.slice(1).replace(/\.$/, "")}.`;
  if (runs === 0) return reason;
  const p = noise.p === null ? "" : `, p = ${noise.p < 0.001 ? "< 0.001" : noise.p.toPrecision(2)}`;
  return (
    `${reason} Unchanged, the base came out otherwise in ${noise.base_flips} of ${noise.base_n} repeats, ` +
    `the candidate in ${noise.candidate_flips} of ${noise.candidate_n}${p}.`
  );
}
