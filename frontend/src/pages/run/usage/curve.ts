// Tokens and cost of a run up to each of its model calls.
import type { StepSummary } from "@/api/schema";

export interface UsagePoint {
  step: number;
  /** All tokens, read and written, up to this call. */
  tokens: number;
  /** The known cost up to this call. */
  cost: number;
}

export interface UsageCurve {
  points: readonly UsagePoint[];
  calls: number;
  /** Calls whose cost is unknown; it is missing from all sums. */
  unknownCosts: number;
  /** Calls of which no token was counted. */
  unknownTokens: number;
}

/** Points to draw: more than a small chart has pixels for are merged. */
const MOST_POINTS = 240;

export function usageCurve(steps: readonly StepSummary[]): UsageCurve {
  const points: UsagePoint[] = [];
  let [tokens, cost, unknownCosts, unknownTokens] = [0, 0, 0, 0];
  for (const step of steps) {
    if (step.type !== "model") continue;
    tokens += (step.tokens_in ?? 0) + (step.tokens_out ?? 0);
    cost += step.cost_usd ?? 0;
    if (step.cost_usd === null) unknownCosts++;
    if (step.tokens_in === null && step.tokens_out === null) unknownTokens++;
    points.push({ step: step.sequence_no, tokens, cost });
  }
  return { points: thin(points), calls: points.length, unknownCosts, unknownTokens };
}

/** The last point of each of `MOST_POINTS` equal groups: sums only grow, so the last is the highest. */
function thin(points: readonly UsagePoint[]): UsagePoint[] {
  const size = Math.max(1, Math.ceil(points.length / MOST_POINTS));
  return points.filter((_, index) => (index + 1) % size === 0 || index === points.length - 1);
}

/** The outline of a curve in a box: it rises at each call and stays level between them. */
export function stairs(
  values: readonly { step: number; value: number }[],
  box: { width: number; height: number; first: number; last: number; top: number },
): string {
  const left = (step: number) => ((step - box.first) / Math.max(1, box.last - box.first)) * box.width;
  const top = (value: number) => box.height - (box.top > 0 ? value / box.top : 0) * box.height;
  const moves = values.map(({ step, value }) => `H${left(step).toFixed(1)}V${top(value).toFixed(1)}`);
  return `M0,${box.height}${moves.join("")}H${box.width}`;
}

/** The last point at or before a step; null before the first call. */
export function pointAt(points: readonly UsagePoint[], step: number): UsagePoint | null {
  return points.findLast((point) => point.step <= step) ?? null;
}
