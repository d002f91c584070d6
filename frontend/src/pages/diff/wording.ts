/** The report's closed vocabularies, as a reader meets them. */
import type { AlignedPair, Attribution } from "@/api/schema";

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
export function emphasise(sentence: string, title: string | null): { before: string; strong: string; after: string } {
  const start = title ? sentence.toLowerCase().indexOf(title.toLowerCase()) : -1;
  if (!title || start < 0) return { before: sentence, strong: "", after: "" };
  return {
    before: sentence.slice(0, start),
    strong: sentence.slice(start, start + title.length),
    after: sentence.slice(start + title.length),
  };
}

/** A title without the kind in front, which stands beside it already. */
export function titleWithoutKind(title: string, kind: string): string {
  const rest = title.toLowerCase().startsWith(kind.toLowerCase())
    ? title.slice(kind.length).replace(/^:\s*/, "")
    : title;
  return rest.trim();
}
