// The order in which the steps of a replay get their labels on the page.
import type { StepSummary } from "@/api/schema";

interface Reveal {
  /** Steps before the fork, copied from the recording. */
  copies: StepSummary[];
  /** The others, in the order in which they are shown. */
  sequence: StepSummary[];
}

/**
 * Copies come first, then the steps from the fork on. An agent or a turn around the fork ends after the steps inside it,
 * so its label is known last.
 */
export function revealOrder(steps: readonly StepSummary[], fork: number, hasEnded: boolean): Reveal {
  const before = steps.filter((step) => step.sequence_no < fork);
  const containers = before.filter((step) => step.type === "agent" || step.type === "turn");
  return {
    copies: before.filter((step) => !containers.includes(step)),
    sequence: [...steps.filter((step) => step.sequence_no >= fork), ...(hasEnded ? containers : [])],
  };
}

/** The time between two steps, so that all of them appear within two seconds. */
export function revealPause(steps: number): number {
  return Math.min(200, 2000 / Math.max(1, steps));
}
