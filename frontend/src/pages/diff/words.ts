/** The report's closed vocabularies, as a reader meets them. */
import type { AlignedPair, Attribution, DiffReport } from "@/api/schema";
import { shortId } from "@/components/format";
import type { Mark } from "@/components/labels";

const VERDICT_TITLES: Record<Exclude<Attribution["verdict"], "cause">, string> = {
  no_difference: "No difference",
  no_effect: "No effect",
  noise: "Within noise",
  inconclusive: "Inconclusive",
};

/** A cause is called what it is known to be. */
export function verdictTitle({ verdict, confidence }: Pick<Attribution, "verdict" | "confidence">): string {
  if (verdict !== "cause") return VERDICT_TITLES[verdict];
  return confidence === "low" ? "Suspected cause" : confidence === "medium" ? "Likely cause" : "Cause";
}

type Confidence = NonNullable<Attribution["confidence"]>;

/** The mark borrows the shapes of the labels, so that confidence is never colour alone. */
export const CONFIDENCE: Record<Confidence, { words: string; means: string; mark: Mark }> = {
  high: { words: "high confidence", means: "Shown by replaying both with and without the change.", mark: "exact" },
  medium: {
    words: "medium confidence",
    means: "Shown in one direction, or the only candidate that is left.",
    mark: "cached",
  },
  low: {
    words: "low confidence",
    means: "Inferred from the recordings by order and data flow; nothing was replayed to test it.",
    mark: "simulated",
  },
  noise: {
    words: "noise",
    means: "Probably chance: unchanged repeats differ as much, or no recorded setting differs.",
    mark: "live",
  },
};

/** How the likeness of two texts was measured. */
export const METHOD: Record<string, string> = {
  identical: "equal texts",
  embeddings: "by meaning",
  difflib: "by equal characters",
  jaccard: "by shared words",
  empty: "one is empty",
};

export const RELATION: Record<AlignedPair["relation"], { words: string; sign: string }> = {
  same: { words: "same", sign: "=" },
  changed: { words: "changed", sign: "≠" },
  moved: { words: "moved", sign: "↕" },
  added: { words: "only in the candidate", sign: "+" },
  removed: { words: "only in the base", sign: "−" },
};

/** The sentence with the name of the cause taken out, so that it can stand out; whole where it is not in it. */
export function emphasised(sentence: string, title: string | null): { before: string; strong: string; after: string } {
  const at = title ? sentence.toLowerCase().indexOf(title.toLowerCase()) : -1;
  if (!title || at < 0) return { before: sentence, strong: "", after: "" };
  return {
    before: sentence.slice(0, at),
    strong: sentence.slice(at, at + title.length),
    after: sentence.slice(at + title.length),
  };
}

/** A title without the kind in front, which stands beside it already. */
export function withoutKind(title: string, kind: string): string {
  const rest = title.toLowerCase().startsWith(kind.toLowerCase())
    ? title.slice(kind.length).replace(/^:\s*/, "")
    : title;
  return rest.trim();
}

/** A fork says where it forked, a run of the same name which one it is: the bare name would repeat that of the base. */
export function candidateName({ base, candidate }: Pick<DiffReport, "base" | "candidate">): string {
  if (candidate.source_run === base.id && candidate.fork_sequence_no !== null) {
    return `fork from step ${candidate.fork_sequence_no}`;
  }
  return candidate.name === base.name ? `run ${shortId(candidate.id)} of the same name` : candidate.name;
}
