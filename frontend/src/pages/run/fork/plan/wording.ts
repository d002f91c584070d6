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

/** What an agent that runs again is answered with, if it calls what it called in the recording. */
const agentLines: typeof lines = {
  ...lines,
  inherited: (count) => `${pluralize(count, "step")} before the fork, answered from the recording`,
  reuse: (count) => `${pluralize(count, "step")} after it, answered from the recording if the agent calls the same`,
  live: (count) => `${pluralize(count, "call")} that can go live`,
  simulate: (count) => `${pluralize(count, "step")} that the agent decides`,
  blocked: (count) => `${pluralize(count, "call")} refused to the agent unless its tool is reviewed or allowed`,
};

/** The plan as a short list, most certain answers first. */
export function planLines(plan: Plan): { action: PlanAction; text: string }[] {
  const words = plan.engine === "agent" ? agentLines : lines;
  return order.flatMap((action) => {
    const count = plan.actions[action] ?? 0;
    return count > 0 ? [{ action, text: words[action](count) }] : [];
  });
}

/** "≤ $0.013 · about 3 s". Names what is unknown. */
export function planPrice(plan: Plan): string {
  if (plan.live_calls === 0) return "free, no live calls";
  const cost = plan.cost_usd === null ? "cost unknown" : `≤ ${money(plan.cost_usd)}`;
  return plan.duration_ms === null ? cost : `${cost} · about ${duration(plan.duration_ms)}`;
}
