// Descriptions of a plan's lines and cost.
import type { Plan, PlannedStep } from "@/api/schema";
import type { PlanAction } from "@/domain/steps/labels";
import { pluralize, duration, money } from "@/ui/format/numbers";
import { numberRanges } from "@/ui/format/ranges";

type Words = (count: number) => string;

const steps = (singular: string, plural: string): Words => {
  return (count) => `${pluralize(count, "step")} ${count === 1 ? singular : plural}`;
};

const lines: Record<PlanAction, Words> = {
  inherited: (count) => `${pluralize(count, "step")} before the fork, reused`,
  reuse: (count) => `${pluralize(count, "step")} from the recording, unchanged`,
  cache: (count) => `${pluralize(count, "step")} from the cache, same signature`,
  live: (count) => pluralize(count, "live call"),
  simulate: (count) => `${pluralize(count, "step")} simulated`,
  blocked: (count) => `${pluralize(count, "step")} blocked`,
  unreached: (count) => `${pluralize(count, "step")} may no longer run`,
};

const order: readonly PlanAction[] = ["inherited", "reuse", "cache", "live", "simulate", "blocked", "unreached"];

/** Why steps are simulated although none of them is called. */
const simulatedLines: Record<string, Words> = {
  derived: steps("takes its result from the steps inside", "take their result from the steps inside"),
  live_model_call: steps("repeats a live answer", "repeat a live answer"),
  simulation_operator_override: steps("has the output that you set", "have the output that you set"),
  source_output_unverified: steps("keeps its recorded output, unverified", "keep their recorded output, unverified"),
  simulation_policy_fallback: steps("gets a placeholder", "get a placeholder"),
  side_effect_blocked: (count) => `${pluralize(count, "call")} not made: possible side effects`,
  duplicate_suppressed: (count) => `${pluralize(count, "repeated call")} not made again`,
  assumed_unaffected: (count) => `${pluralize(count, "step")} assumed unaffected`,
};

/** What an agent that runs again is answered with, if it calls what it called in the recording. */
const agentLines: typeof lines = {
  ...lines,
  inherited: (count) => `${pluralize(count, "step")} before the fork, answered from the recording`,
  reuse: (count) => `${pluralize(count, "step")} after it, answered from the recording if the agent calls the same`,
  live: (count) => `${pluralize(count, "call")} that can go live`,
  simulate: (count) => `${pluralize(count, "step")} that the agent decides`,
  blocked: (count) => `${pluralize(count, "call")} refused to the agent unless its tool is reviewed or allowed`,
};

export interface PlanLine {
  key: string;
  action: PlanAction;
  text: string;
  /** The numbers of its steps, if the plan contains them: "5, 7–9". */
  steps: string;
}

/** The plan as a short list with a line for each reason, most certain answers first. */
export function planLines(plan: Plan): PlanLine[] {
  const isAgent = plan.engine === "agent";
  const words = isAgent ? agentLines : lines;
  return order.flatMap((action) => {
    const count = plan.actions[action] ?? 0;
    if (count === 0) return [];
    const members = plan.steps.filter((step) => step.action === action);
    // The plan omits untouched steps, and none of a line is better than some of them.
    const isComplete = members.length === count;
    if (action === "simulate" && isComplete && !isAgent) return simulatedLinesOf(members);
    return [{ key: action, action, text: words[action](count), steps: isComplete ? numbersOf(members) : "" }];
  });
}

function simulatedLinesOf(members: readonly PlannedStep[]): PlanLine[] {
  const groups = new Map<Words, PlannedStep[]>();
  for (const step of members) {
    const words = simulatedLines[step.reason] ?? lines.simulate;
    groups.set(words, [...(groups.get(words) ?? []), step]);
  }
  return [...groups].map(([words, group]) => {
    const text = words(group.length);
    return { key: text, action: "simulate", text, steps: numbersOf(group) };
  });
}

const numbersOf = (group: readonly PlannedStep[]) => numberRanges(group.map((step) => step.sequence_no));

/** "≤ $0.013 · about 3 s". Names what is unknown. */
export function planPrice(plan: Plan): string {
  if (plan.live_calls === 0) return "free, no live calls";
  const cost = plan.cost_usd === null ? "cost unknown" : `≤ ${money(plan.cost_usd)}`;
  return plan.duration_ms === null ? cost : `${cost} · about ${duration(plan.duration_ms)}`;
}
