import { expect, test } from "vitest";
import type { StepSummary, StepType } from "@/api/schema";
import { aStep } from "@/testing/factories";
import { indexSteps } from "../steps/tree";
import { numbersOf, stepAtOffset, transcriptRows } from "./rows";

const step = (sequence_no: number, type: StepType, parent: number | null, rest: Partial<StepSummary> = {}) =>
  aStep({ sequence_no, type, parent, ...rest });
const keys = (...steps: StepSummary[]) => transcriptRows(indexSteps(steps)).map(({ key }) => key);

test("leaves out the agent and the turns around model calls", () => {
  expect(
    keys(step(1, "agent", null), step(2, "turn", 1), step(3, "model", 2), step(4, "tool", 2), step(5, "output", 1)),
  ).toEqual(["3-step", "4-step", "5-step"]);
});

test("shows a turn without steps, such as the last words of a user", () => {
  expect(keys(step(1, "agent", null), step(2, "model", 1), step(3, "turn", 1))).toEqual(["2-step", "3-step"]);
});

test("names the agents inside an agent", () => {
  expect(
    keys(step(1, "agent", null), step(2, "agent", 1), step(3, "model", 2), step(4, "agent", 1), step(5, "model", 4)),
  ).toEqual(["2-agent", "3-step", "4-agent", "5-step"]);
});

test("shows input and output of a container without a model call around its steps", () => {
  expect(keys(step(1, "agent", null), step(2, "tool", 1), step(3, "tool", 1))).toEqual([
    "1-input",
    "2-step",
    "3-step",
    "1-output",
  ]);
});

test("shows the failure of a container below its steps", () => {
  expect(keys(step(1, "agent", null, { status: "error" }), step(2, "model", 1), step(3, "validator", 1))).toEqual([
    "2-step",
    "3-step",
    "1-failure",
  ]);
});

test("shows a retrieval and the calls that it made", () => {
  expect(keys(step(1, "retrieval", null), step(2, "retrieval", 1))).toEqual(["1-step", "2-step"]);
});

test("moves over steps, not over rows, and from a step without a row", () => {
  const rows = transcriptRows(
    indexSteps([
      step(1, "agent", null),
      step(2, "turn", 1),
      step(3, "model", 2),
      step(4, "tool", 2),
      step(5, "tool", 2),
    ]),
  );
  const numbers = numbersOf(rows);
  expect(stepAtOffset(numbers, 3, 1)).toBe(4);
  expect(stepAtOffset(numbers, 3, -1)).toBe(3);
  expect(stepAtOffset(numbers, 5, 1)).toBe(5);
  expect(stepAtOffset(numbers, 2, 1)).toBe(3);
  expect(stepAtOffset(numbers, 2, -1)).toBe(3);
  expect(stepAtOffset(numbers, null, 1)).toBe(3);
  expect(stepAtOffset([], 3, 1)).toBeNull();
});
