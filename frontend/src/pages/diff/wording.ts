/** Descriptions of the enums of a report. */
import type { AlignedPair, Attribution } from "@/api/schema";

const VERDICT_TITLES: Record<Exclude<Attribution["verdict"], "cause">, string> = {
  no_difference: "No difference",
  no_effect: "No effect",
  noise: "Within noise",
  inconclusive: "Inconclusive",
};

/** The title of a cause, qualified by its confidence. */
export function verdictTitle({ verdict, confidence }: Pick<Attribution, "verdict" | "confidence">): string {
  if (verdict !== "cause") return VERDICT_TITLES[verdict];
  return confidence === "low" ? "Suspected cause" : confidence === "medium" ? "Likely cause" : "Cause";
}

/** The similarity method, in words. */
export const METHOD: Record<string, string> = {
  identical: "equal texts",
  embeddings: "by meaning",
  difflib: "text",
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

/** Split a sentence around the name of the cause, to emphasise it. Whole if it does not contain the name. */
export function emphasise(sentence: string, title: string | null): { before: string; strong: string; after: string } {
  const start = title ? sentence.toLowerCase().indexOf(title.toLowerCase()) : -1;
  if (!title || start < 0) return { before: sentence, strong: "", after: "" };
  return {
    before: sentence.slice(0, start),
    strong: sentence.slice(start, start + title.length),
    after: sentence.slice(start + title.length),
  };
}

/** A title without its kind, which is shown next to it. */
export function titleWithoutKind(title: string, kind: string): string {
  const rest = title.toLowerCase().startsWith(kind.toLowerCase())
    ? title.slice(kind.length).replace(/^:\s*/, "")
    : title;
  return rest.trim();
}
