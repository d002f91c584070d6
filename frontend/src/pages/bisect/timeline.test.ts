import { expect, test } from "vitest";
import type { BisectResult, ForkResult } from "@/api/schema";
import { stepsAfterLast, triedSteps } from "./timeline";

const step = (sequence_no: number): ForkResult["step"] => ({ sequence_no, type: "model", name: "desk" });
const forkAt = (sequence_no: number): ForkResult => ({
  step: step(sequence_no),
  counted: { passed: 1, failed: 0, unclear: 0, running: 0, assumed: 0, doubtful: 0 },
});
const view = (forks: number[], commit: object | null) => ({
  result: { forks: forks.map(forkAt), commit } as unknown as BisectResult,
  fork_steps: [3, 5, 7, 9, 11, 13, 15],
});

test("steps have their roles, and the gaps between them their zones", () => {
  const commit = { step: step(9), kept: step(13), earliest: step(3) };
  expect(
    triedSteps(view([3, 9, 13, 15], commit)).map(({ fork, ...rest }) => ({ ...rest, number: fork.step.sequence_no })),
  ).toEqual([
    { number: 3, role: "earliest", skippedSteps: 0, gapZone: "before" },
    { number: 9, role: "commit", skippedSteps: 2, gapZone: "before" },
    { number: 13, role: "kept", skippedSteps: 1, gapZone: "interval" },
    { number: 15, role: null, skippedSteps: 0, gapZone: "after" },
  ]);
});

test("without a result every zone is unknown", () => {
  const searching = view([3, 11], null);
  expect(triedSteps(searching).map(({ gapZone }) => gapZone)).toEqual(["unknown", "unknown"]);
  expect(stepsAfterLast(searching)).toBe(2);
  expect(stepsAfterLast(view([], null))).toBe(0);
});
