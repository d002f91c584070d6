import type { Attribution } from "@/api/schema";
import type { Mark } from "@/domain/steps/labels";

export type Confidence = NonNullable<Attribution["confidence"]>;

/** The mark reuses the shapes of labels, so that confidence is never shown by colour alone. */
export const CONFIDENCE: Record<Confidence, { words: string; means: string; mark: Mark }> = {
  high: { words: "high confidence", means: "Proven by replaying both with and without the change.", mark: "exact" },
  medium: {
    words: "medium confidence",
    means: "Shown by replay in one direction, or the only candidate left.",
    mark: "cached",
  },
  low: {
    words: "low confidence",
    means: "Inferred from order and data flow in the recordings; not tested by replay.",
    mark: "simulated",
  },
  noise: {
    words: "noise",
    means: "Probably chance: unchanged repeats differ as much, or no recorded setting differs.",
    mark: "live",
  },
};

/** How many of three bars a confidence fills. */
export const STRENGTHS: Record<Confidence, number> = { high: 3, medium: 2, low: 1, noise: 0 };
