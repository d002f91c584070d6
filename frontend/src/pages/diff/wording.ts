/** Descriptions of the enums of a report. */
import type { AlignedPair, Attribution, SectionItem } from "@/api/schema";

/** The verdict in two parts: what changed, and what it did. A report of version 1 has only its sentence. */
export function headlineOf(
  { headline, sentence }: Pick<Attribution, "headline" | "sentence">,
  summary: string,
): { cause: string; effect: string } {
  if (!headline) return { cause: "", effect: sentence || summary };
  const effect = [headline.effect, headline.caution].filter(Boolean).join("; ");
  return { cause: headline.cause, effect: /[.!?]”?$/.test(effect) ? effect : `${effect}.` };
}

/** The similarity method, in words. */
export const METHOD: Record<string, string> = {
  identical: "equal texts",
  embeddings: "by meaning",
  difflib: "text",
  jaccard: "by shared words",
  empty: "an answer without a counterpart counts as 0",
  unavailable: "unknown: no pair of answers can be read, which counts as 0",
};

export const RELATION: Record<AlignedPair["relation"], { words: string; sign: string }> = {
  same: { words: "same", sign: "=" },
  changed: { words: "changed", sign: "≠" },
  moved: { words: "moved", sign: "↕" },
  added: { words: "only in the candidate", sign: "+" },
  removed: { words: "only in the base", sign: "−" },
};

/** The step of a difference, without the words that the difference below it shows. */
export function itemTitle({ title, text, values, messages }: SectionItem): string {
  const hasContent = text !== null || values.length > 0 || messages.length > 0;
  return hasContent ? title.replace(/^(step \d+( \([^)]*\))?): .*$/s, "$1") : title;
}
