// Descriptions of a plan's actions and cost.
import type { Plan } from "@/api/schema";
import type { PlanAction } from "@/domain/steps/labels";
import { pluralize, duration, money } from "@/ui/format/numbers";

const lines: Record<PlanAction, (count: number) => string> = {
  inherited: (count) => `${pluralize(count, "step")} before the fork, reused`,
  reuse: (count) => `${pluralize(count, "step")} from the recording, unchanged`,
  cache: (count) => `${pluralize(count, "step")} from the cache, same signature`,
  live: (count) => pluralize(count, "live call"),
  simulate: (count) => `${pluralize(count, "step")} simulated`,
  blocked: (count) => `${pluralize(count, "step")} blocked`,
  unreached: (count) => `${pluralize(count, "step")} may no longer run`,
};

const order: readonly PlanAction[] = ["inherited", "reuse", "cache", "live", "simulate", "blocked", "unreached"];

/** The plan as a short list, most certain answers first. */
export function planLines(plan: Plan): { action: PlanAction; text: string }[] {
  return order.flatMap((action) => {
    const count = plan.actions[action] ?? 0;
    return count > 0 ? [{ action, text: lines[action](count) }] : [];
  });
}

/** "≤ $0.013 · about 3 s". Names what is unknown. */
export function planPrice(plan: Plan): string {
  if (plan.live_calls === 0) return "free, no live calls";
  const cost = plan.cost_usd === null ? "cost unknown" : `≤ ${money(plan.cost_usd)}`;
  return plan.duration_ms === null ? cost : `${cost} · about ${duration(plan.duration_ms)}`;
}
