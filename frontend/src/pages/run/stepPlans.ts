import type { Plan, PlannedStep } from "@/api/schema";
import type { PlanAction } from "@/domain/steps/labels";

/** The planned action of one step. */
export type StepPlan = Pick<PlannedStep, "action" | "reason" | "note" | "differs" | "because">;

/** The planned actions by step number. */
export interface StepPlans {
  get: (sequenceNo: number) => StepPlan | undefined;
}

const REUSE_PLAN: StepPlan = { action: "reuse", reason: "source_output_reused", note: "", differs: [], because: [] };

/** The plan omits untouched steps: from the fork on, every unlisted step is reused. */
export function stepPlansOf(plan: Plan): StepPlans {
  const listedPlans = new Map<number, StepPlan>(plan.steps.map((step) => [step.sequence_no, step]));
  const reusesRest = (plan.actions.reuse ?? 0) > 0;
  return {
    get: (sequenceNo) =>
      listedPlans.get(sequenceNo) ?? (reusesRest && sequenceNo >= plan.fork_sequence_no ? REUSE_PLAN : undefined),
  };
}

/** The planned action of a step of a run; null outside of a fork that is being edited. */
export function actionOf(sequenceNo: number, plans: StepPlans | null, fork: number | null): PlanAction | null {
  if (plans === null) return null;
  return plans.get(sequenceNo)?.action ?? (fork !== null && sequenceNo < fork ? "inherited" : null);
}

/** Descriptions of planned actions. */
export const actionWord: Record<PlanAction, string> = {
  inherited: "taken from the recording",
  reuse: "stays as recorded",
  cache: "from the cache",
  live: "runs live",
  simulate: "simulated",
  blocked: "blocked",
  unreached: "may no longer run",
};
