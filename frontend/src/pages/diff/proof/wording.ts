/** Descriptions of the enums of evidence. */
import type {
  CheapestExperiment,
  AtomEvidence,
  Evidence,
  Findings,
  Interaction,
  NoiseGate,
  ProbeEvidence,
  ProofPlan,
  ProofProgress,
  ProofRequest,
} from "@/api/schema";
import { pluralize, money } from "@/ui/format/numbers";

export type QuestionKind = ProofRequest["question"];

export const QUESTIONS: Record<QuestionKind, { label: string; hint: string }> = {
  answer: { label: "The final answer", hint: "compared as text; ignores case, spacing and punctuation" },
  answer_exact: { label: "The exact final answer", hint: "compared character by character" },
  answer_facts: { label: "The facts in the answer", hint: "numbers, dates and names, however they are worded" },
  answer_alike: {
    label: "Which recorded answer it resembles",
    hint: "by the words that distinguish the two answers; for answers whose wording varies",
  },
  tool_calls: { label: "The tools that were called", hint: "which tools, how often and with which arguments" },
  status: { label: "How the run ended", hint: "completed or failed, and where" },
  check: { label: "Your own check", hint: "whether the final answer passes all of them" },
  score: { label: "Your own score", hint: "how many of the checks pass" },
  outcome: { label: "The outcome", hint: "passed or failed by the app's outcome rule" },
  judgement: { label: "A judgement", hint: "passed or failed by one judgement, for example a score" },
};

const VERDICTS: Record<Findings["verdict"], string> = {
  single: "One change is the cause",
  joint: "Several changes are the cause together",
  over_determined: "Several causes, each sufficient",
  no_effect: "No effect",
  noise: "No cause found: within chance",
  inconclusive: "Inconclusive",
};

const CAUSES: readonly Findings["verdict"][] = ["single", "joint", "over_determined"];

/** The verdict, qualified if its confidence is low. */
export function verdictOf({ verdict, confidence }: Pick<Findings, "verdict" | "confidence">): string {
  const open = confidence === "low" && CAUSES.includes(verdict);
  return `${VERDICTS[verdict]}${open ? ", as far as tested" : ""}`;
}

export const PURPOSES: Record<ProbeEvidence["purpose"], string> = {
  reproduce: "check that a replay reproduces the recording",
  apply: "check whether it is sufficient alone",
  revert: "check whether it is necessary",
  search: "find the smallest set",
  factorial: "every combination",
  part: "find the part that matters",
  clamp: "check whether the effect passes through this step",
  repeat: "repeat unchanged, to measure chance",
  control: "check that the agent does what is recorded",
};

const STAGES: Record<ProofProgress["stage"], string> = {
  controls: "starting the agent unchanged",
  noise: "ruling out chance",
  search: "looking for the cause",
  shares: "weighing the changes",
  parts: "looking inside the cause",
  mediators: "following the effect",
  "": "starting",
};

export function stageWords(progress: ProofProgress): string {
  return progress.doing || STAGES[progress.stage];
}

export const OUTCOMES: Record<ProbeEvidence["outcome"], string> = {
  candidate: "as in the candidate",
  base: "as in the base",
  other: "something else",
  needs_live: "did not run",
  failed: "failed",
};

export interface Answer {
  words: string;
  sign: "yes" | "no" | "unknown";
}

/** Whether the change alone is sufficient. */
export function sufficientAnswer(atom: AtomEvidence): Answer {
  return answerOf(atom.sufficient);
}

/** Whether the candidate's outcome requires the change. A certificate means that it does not. */
export function necessaryAnswer(atom: AtomEvidence): Answer {
  return answerOf(atom.necessary ?? (atom.certificate ? false : null));
}

function answerOf(result: boolean | null): Answer {
  if (result === null) return { words: "not tested", sign: "unknown" };
  return result ? { words: "yes", sign: "yes" } : { words: "no", sign: "no" };
}

/** What a probe replayed, as one sentence. `allChanges` are all changes that can be applied. */
export function probeWords(
  probe: ProbeEvidence,
  titles: ReadonlyMap<string, string>,
  allChanges: ReadonlySet<string>,
): string {
  return runOf(probe, titles, allChanges) + (probe.repeats > 1 ? `, ${probe.repeats} times` : "");
}

function runOf(probe: ProbeEvidence, titles: ReadonlyMap<string, string>, allChanges: ReadonlySet<string>): string {
  const side = probe.side === "base" ? "The base" : "The candidate";
  if (probe.clamped !== null) return `${side}, with the base's output at step ${probe.clamped}`;
  if (probe.purpose === "control") return `The agent, unchanged, with the recording of ${side.toLowerCase()}`;
  const unchangedCount = probe.side === "base" ? 0 : allChanges.size;
  const isOwnRun = probe.applied.length === unchangedCount && probe.applied.every((id) => allChanges.has(id));
  if (probe.purpose === "repeat" && isOwnRun) return `${side} again, unchanged`;
  if (probe.applied.length === 0) return `${side} with none of the changes`;
  return `${side} with only: ${probe.applied.map((id) => titles.get(id) ?? id).join(", ")}`;
}

/** The interaction of two changes, as a sentence and its figure. */
export function interactionWords(
  { one, other, value }: Interaction,
  titles: ReadonlyMap<string, string>,
): { sentence: string; figure: string } {
  const second = titles.get(other) ?? other;
  const pair = `${titles.get(one) ?? one} and ${second.charAt(0).toLowerCase()}${second.slice(1)}`;
  const comparison = value > 0 ? "more" : "less";
  return {
    sentence: `${pair}: together they do ${comparison} than the sum of both.`,
    figure: `${value > 0 ? "+" : "−"}${Number(Math.abs(value).toPrecision(2))}`,
  };
}

/** All changes, each followed by its parts, with their depth. */
export function atomTree(atoms: readonly AtomEvidence[]): { atom: AtomEvidence; depth: number }[] {
  const ids = new Set(atoms.map(({ id }) => id));
  const childrenOf = (parent: string | null, depth: number): { atom: AtomEvidence; depth: number }[] =>
    atoms
      .filter((atom) => (atom.parent !== null && ids.has(atom.parent) ? atom.parent : null) === parent)
      .flatMap((atom) => [{ atom, depth }, ...childrenOf(atom.id, depth + 1)]);
  return childrenOf(null, 0);
}

/** Whether a change belongs to a smallest sufficient set. */
export function isPrimary(findings: Findings, atom: AtomEvidence): boolean {
  return findings.primary.some((causes) => causes.includes(atom.id));
}

const STRENGTH: Record<Findings["confidence"], number> = { high: 3, medium: 2, noise: 2, low: 1 };

/** The evidence behind the report's verdict: the strongest, and the newest of equals. */
export function strongestEvidence(evidence: readonly Evidence[]): Evidence | null {
  const order = (item: Evidence) => STRENGTH[item.confidence] - (item.verdict === "inconclusive" ? 1 : 0);
  return evidence.reduce<Evidence | null>((best, item) => (!best || order(item) >= order(best) ? item : best), null);
}

/** The price of a proof before it starts, as the note beside its button. Its live calls are a limit. */
export function planWords({
  probes,
  repeats,
  agent_starts: starts,
  live_calls: calls,
  cost_usd: cost,
}: ProofPlan): string {
  const price = calls === 0 ? "free" : cost === null ? "cost unknown" : money(cost);
  const work =
    starts > 0 ? `up to ${pluralize(starts, "start")} of the agent` : `about ${pluralize(probes + repeats, "replay")}`;
  return `${work} · ${calls > 0 ? "up to " : ""}${pluralize(calls, "live call")} · ${price}`;
}

/** What a running proof took so far. */
export function progressWords({ probes, repeats, live_calls: calls }: ProofProgress): string {
  const work = `${pluralize(probes + repeats, "replay")} so far`;
  return calls > 0 ? `${work} · ${pluralize(calls, "live call")}` : work;
}

/** What a finished proof took, as the note beside the verdict. */
export function effortWords({ replays_cached, replays_live, live_calls: calls, cost_usd: cost }: Findings): string {
  const price = calls === 0 ? "free" : cost === null ? "cost unknown" : money(cost);
  return `${pluralize(replays_cached + replays_live, "replay")} · ${pluralize(calls, "live call")} · ${price}`;
}

/** The total effort of a proof, as one line. */
export function costSentence(findings: Findings): string {
  const replays = findings.replays_cached + findings.replays_live;
  const skippedReplays = findings.probes.reduce((sum, { repeats }) => sum + repeats, 0) - replays;
  const split = `${findings.replays_cached} from the recordings, ${findings.replays_live} live`;
  const steps = pluralize(findings.steps_executed, "step");
  const calls = pluralize(findings.live_calls, "live call");
  const cost =
    findings.live_calls === 0 ? "free" : findings.cost_usd === null ? "cost unknown" : money(findings.cost_usd);
  const skippedNote = skippedReplays > 0 ? `; ${skippedReplays} more could not run` : "";
  return `${pluralize(replays, "replay")} (${split}), ${steps} run again, ${calls}, ${cost}${skippedNote}`;
}

/** The cost of an experiment, as one sentence. */
export function experimentCost({ replays, live_calls: calls, cost_usd: cost }: CheapestExperiment): string {
  const price = calls === 0 ? "free" : cost === null ? "cost unknown" : `about ${money(cost)}`;
  return `${pluralize(replays, "replay")}, ${pluralize(calls, "live call")}, ${price}.`;
}

/** Whether chance was ruled out, as one line. */
export function chanceSentence(noise: NoiseGate): string {
  const runs = noise.base_n + noise.candidate_n;
  const reason = `${noise.reason.charAt(0).toUpperCase()}${noise.reason.slice(1).replace(/\.$/, "")}.`;
  if (runs === 0) return reason;
  const p = noise.p === null ? "" : `, p ${noise.p < 0.001 ? "< 0.001" : `= ${Number(noise.p.toPrecision(2))}`}`;
  return (
    `${reason} In unchanged repeats, the base matched its recording ` +
    `${noise.base_n - noise.base_flips} of ${noise.base_n} times and ` +
    `the candidate ${noise.candidate_n - noise.candidate_flips} of ${noise.candidate_n} times${p}.`
  );
}
