import { expect, test } from "vitest";
import type { Plan, PlannedStep } from "@/api/schema";
import { actionOf, stepPlansOf } from "./stepPlans";

const LIVE = { sequence_no: 5, action: "live", reason: "live_model_call" } as PlannedStep;

function plan(reuse: number): Plan {
  return { fork_sequence_no: 3, steps: [LIVE], actions: { inherited: 2, reuse, live: 1 } } as unknown as Plan;
}

test("unlisted steps after the fork are reused", () => {
  const plans = stepPlansOf(plan(7));
  expect([2, 3, 5, 9].map((no) => plans.get(no)?.action)).toEqual([undefined, "reuse", "live", "reuse"]);
  expect(plans.get(3)).toBe(plans.get(9));
});

test("unlisted steps have no plan without reuse", () => {
  expect(stepPlansOf(plan(0)).get(4)).toBeUndefined();
});

test("steps before the fork are inherited, but only while a fork is edited", () => {
  expect([2, 3, 5].map((no) => actionOf(no, stepPlansOf(plan(7)), 3))).toEqual(["inherited", "reuse", "live"]);
  expect(actionOf(2, null, 3)).toBeNull();
});
