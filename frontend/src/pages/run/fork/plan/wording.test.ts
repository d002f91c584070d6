import { expect, test } from "vitest";
import type { Plan, PlannedStep } from "@/api/schema";
import { planLines } from "./wording";

const step = (sequence_no: number, action: PlannedStep["action"], reason: string) => ({ sequence_no, action, reason });

const plan = {
  engine: "follow",
  actions: { inherited: 2, reuse: 40, live: 3, simulate: 4, blocked: 0 },
  steps: [
    step(1, "simulate", "derived"),
    step(4, "simulate", "derived"),
    step(5, "live", "live_model_call"),
    step(6, "live", "live_model_call"),
    step(7, "live", "live_model_call"),
    step(10, "simulate", "simulation_policy_fallback"),
    step(11, "simulate", "assumed_unaffected"),
  ],
} as unknown as Plan;

test("a plan has a line with the steps for each reason", () => {
  expect(planLines(plan).map(({ text, steps }) => [text, steps])).toEqual([
    ["2 steps before the fork, reused", ""],
    ["40 steps from the recording, unchanged", ""],
    ["3 live calls", "5–7"],
    ["2 steps take their result from the steps inside", "1, 4"],
    ["1 step gets a placeholder", "10"],
    ["1 step assumed unaffected", "11"],
  ]);
});

test("an agent decides what is simulated", () => {
  expect(
    planLines({ ...plan, engine: "agent" })
      .slice(3)
      .map(({ text, steps }) => [text, steps]),
  ).toEqual([["4 steps that the agent decides", "1, 4, 10, 11"]]);
});
