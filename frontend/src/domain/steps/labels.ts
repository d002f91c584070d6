// Descriptions of labels, shared by all pages.
import type { Label, LabelCounts, PlannedStep, StepStatus } from "@/api/schema";
import { lookup } from "@/ui/format/lookup";

export type Mark = Label | "failed";

export const markWord: Record<Mark, string> = {
  live: "recorded",
  exact: "exact",
  cached: "cached",
  simulated: "simulated",
  failed: "failed",
};

export const markMeaning: Record<Mark, string> = {
  live: "An original recording.",
  exact: "Taken from the recording, byte for byte.",
  cached: "Answered from an earlier recording of the same call.",
  simulated: "Not from a recording: a live call, an override or a placeholder.",
  failed: "The step did not succeed.",
};

/** The reason for a label, as one sentence. */
const reasons: Record<string, string> = {
  source_output_reused: "The recorded output is reused: nothing it depends on changed.",
  source_output_unverified: "The recorded output is kept, but the call that it answers is unreadable.",
  simulation_operator_override: "You overrode this step's output.",
  cache_hit_signature_match: "The identical call was answered in another recorded run, or at another step of this one.",
  cache_hit_semantic_match: "A semantically similar call was answered in a recording.",
  cache_hit_normalised:
    "The recorded answer to the same call, after volatile values such as dates and ids were mapped, or to one of several equal calls.",
  agent_ran: "The agent ran it again.",
  live_model_call: "The model was called.",
  live_tool_call: "The tool was called.",
  live_retrieval: "The retriever was queried.",
  side_effect_blocked: "The call was not made: the tool may have side effects and is not allowed.",
  duplicate_suppressed: "The same call had already succeeded in this turn.",
  simulation_policy_fallback: "No answer was available, so the policy inserted a placeholder.",
  assumed_unaffected:
    "Kept as recorded, assuming that the change does not reach it. Parts of its input may depend on the change.",
  derived: "Derived from the steps inside it.",
  denied: "The call was denied, so it was not made.",
  stopped: "A hook stopped the agent here.",
  signature_mismatch: "Something the answer depends on differs from the recording.",
  input_unknown: "Part of its input comes from changed steps and cannot be derived.",
  artifact_missing: "The payload was not recorded, is missing, or is damaged.",
};

export function reasonSentence(reason: string): string {
  return lookup(reasons, reason) ?? reason.replaceAll("_", " ");
}

/** Number of steps that keep their output without proof that the change does not reach them. */
export function assumedSteps(steps: readonly { reason: string }[]): number {
  return steps.filter((step) => step.reason === "assumed_unaffected").length;
}

const bad: ReadonlySet<StepStatus> = new Set<StepStatus>(["error", "timeout", "denied"]);

export function isFailed(status: StepStatus): boolean {
  return bad.has(status);
}

export function markOf(step: { label: Label; status: StepStatus }): Mark {
  return isFailed(step.status) ? "failed" : step.label;
}

export function hasReplayLabels(counts: LabelCounts): boolean {
  return counts.exact + counts.cached + counts.simulated > 0;
}

export type PlanAction = PlannedStep["action"];

/** The colour of each action of a plan. */
export const actionMark: Record<PlanAction, Mark> = {
  inherited: "exact",
  reuse: "exact",
  cache: "cached",
  live: "simulated",
  simulate: "simulated",
  blocked: "failed",
  unreached: "live",
};

/**
 * The mark of a step in the fork that is being edited, where its plan has an action for it. A step of a replay that is
 * not exact stays so in what is forked from it.
 */
export function plannedMark(step: { label: Label; status: StepStatus }, action: PlanAction | null): Mark {
  if (action === null) return markOf(step);
  const isCarried = step.label === "cached" || step.label === "simulated";
  return action === "inherited" && isCarried ? step.label : actionMark[action];
}
