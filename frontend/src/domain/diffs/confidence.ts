import type { Attribution } from "@/api/schema";

export type Confidence = NonNullable<Attribution["confidence"]>;

export const CONFIDENCE: Record<Confidence, { words: string; means: string }> = {
  high: { words: "high confidence", means: "Proven by replaying both with and without the change." },
  medium: {
    words: "medium confidence",
    means: "Shown by replay in one direction, or the only candidate left.",
  },
  low: {
    words: "low confidence",
    means: "Inferred from order and data flow in the recordings; not tested by replay.",
  },
  noise: {
    words: "noise",
    means: "Probably chance: unchanged repeats differ as much, or no recorded setting differs.",
  },
};

/** How many of three bars a confidence fills. */
export const STRENGTHS: Record<Confidence, number> = { high: 3, medium: 2, low: 1, noise: 0 };
