import { expect, test } from "vitest";
import type { ExperimentRowView } from "@/api/schema";
import { answerCounts, sampleState } from "./samples";

const row = (more: Partial<ExperimentRowView>) =>
  ({ status: "completed_mixed", checks: null, unverified: "", answer: "", ...more }) as ExperimentRowView;
const checks = (...results: boolean[]) => results.map((result) => ({ name: "", detail: "", passed: result }));

test("a replay passes only with verified checks", () => {
  expect(sampleState(row({ checks: checks(true, true) }))).toBe("passed");
  expect(sampleState(row({ checks: checks(true, false) }))).toBe("not passed");
  expect(sampleState(row({ checks: checks(false), unverified: "a placeholder" }))).toBe("unverified");
  expect(sampleState(row({ checks: [] }))).toBe("done");
  expect(sampleState(row({ status: "failed_execution" }))).toBe("failed");
  expect(sampleState(row({ status: "running" }))).toBe("not finished");
});

test("equal answers are counted once", () => {
  expect(answerCounts(["a", "b", "b", ""].map((answer) => row({ answer })))).toEqual([
    { text: "b", rowCount: 2 },
    { text: "a", rowCount: 1 },
  ]);
});
