import { expect, test } from "vitest";
import { aStep } from "@/testing/factories";
import {
  emptyWords,
  foldAll,
  indexSteps,
  matchesFilter,
  nextFailed,
  noFilter,
  toggleFold,
  unfoldTo,
  visibleRows,
  waterfall,
} from "./tree";

// agent 1 ─ turn 2 ─ (model 3, tool 4 failed) ; turn 5 ─ model 6
const steps = [
  aStep({ sequence_no: 1, type: "agent", duration_ms: 1000, offset_ms: 0 }),
  aStep({ sequence_no: 2, type: "turn", parent: 1 }),
  aStep({ sequence_no: 3, parent: 2, summary: "asks for get_order" }),
  aStep({ sequence_no: 4, type: "tool", parent: 2, status: "error", tool_name: "get_order" }),
  aStep({ sequence_no: 5, type: "turn", parent: 1 }),
  aStep({ sequence_no: 6, parent: 5, offset_ms: 500, duration_ms: 250 }),
];
const index = indexSteps(steps);
const numbers = (foldedSteps: ReadonlySet<number>, filter = noFilter) =>
  visibleRows(index, foldedSteps, filter).map((node) => [node.step.sequence_no, node.depth]);

test("places children under their parents", () => {
  const parallel = indexSteps([
    aStep({ sequence_no: 1 }),
    aStep({ sequence_no: 2, parent: 1 }),
    aStep({ sequence_no: 3, parent: 1 }),
    aStep({ sequence_no: 4, parent: 2 }),
  ]);
  expect(visibleRows(parallel, new Set(), noFilter).map((node) => node.step.sequence_no)).toEqual([1, 2, 4, 3]);
});

test("a folded step counts hidden failures", () => {
  expect(numbers(new Set([2]))).toEqual([
    [1, 0],
    [2, 1],
    [5, 1],
    [6, 2],
  ]);
  expect(index.bySequence.get(2)).toMatchObject({ size: 2, failed: 1 });
  expect(index.bySequence.get(1)).toMatchObject({ size: 5, failed: 1 });
});

test("folds all and reveals a step", () => {
  const foldedSteps = foldAll(index);
  expect(numbers(foldedSteps)).toEqual([[1, 0]]);
  expect(numbers(unfoldTo(index, foldedSteps, 3)).map(([number]) => number)).toEqual([1, 2, 3, 4, 5]);
  expect(toggleFold(new Set([2]), 2).has(2)).toBe(false);
});

test("a filter finds matches in folded steps", () => {
  const foldedSteps = foldAll(index);
  const matchingSteps = new Set([6]);
  expect(numbers(foldedSteps, { ...noFilter, text: "shelf", matchingSteps }).map(([number]) => number)).toEqual([6]);
  expect(numbers(foldedSteps, { ...noFilter, text: "shelf", matchingSteps, types: ["turn"] })).toEqual([]);
  expect(numbers(foldedSteps, { ...noFilter, text: "GET_ORDER" }).map(([number]) => number)).toEqual([3, 4]);
  expect(numbers(foldedSteps, { ...noFilter, statuses: ["ok"] }).map(([number]) => number)).not.toContain(4);
  expect(numbers(foldedSteps, { ...noFilter, marks: ["failed"] }).map(([number]) => number)).toEqual([4]);
  expect(matchesFilter(aStep({ sequence_no: 9 }), { ...noFilter, types: ["tool"] })).toBe(false);
});

test("cycles through errors in both directions", () => {
  const two = [...steps, aStep({ sequence_no: 7, status: "timeout" })];
  expect([nextFailed(two, 1), nextFailed(two, 4), nextFailed(two, 7), nextFailed(two, 7, -1)]).toEqual([4, 7, 4, 4]);
  expect(nextFailed([aStep({ sequence_no: 1 })], 1)).toBeNull();
});

test("skips agents and turns that failed with a step inside them", () => {
  const failed = (sequence_no: number, type: "agent" | "turn" | "tool") =>
    aStep({ sequence_no, type, status: "error" });
  const outer = [failed(1, "agent"), failed(2, "turn")];
  expect(nextFailed([...outer, failed(3, "tool")], 3)).toBe(3);
  expect(nextFailed(outer, 2)).toBe(1);
});

test("only timed steps have bars", () => {
  expect(waterfall(steps[5] ?? expect.fail(), index.spanMs)).toEqual({ left: 50, width: 25 });
  expect(waterfall(steps[2] ?? expect.fail(), index.spanMs)).toBeNull();
});

test("handles a hundred thousand steps", () => {
  const many = Array.from({ length: 100_000 }, (_, position) =>
    aStep({ sequence_no: position + 1, parent: position === 0 ? null : position }),
  );
  const deep = indexSteps(many);
  expect(visibleRows(deep, new Set(), noFilter)).toHaveLength(100_000);
  expect(deep.bySequence.get(1)?.size).toBe(99_999);
});

test("says that no step matches only after all text was searched", () => {
  expect(emptyWords(true, null)).toMatch(/^Searching/);
  expect(emptyWords(false, new Error("the search failed"))).toMatch(/could not be searched\. The search failed\./);
  expect(emptyWords(false, null)).toBe("No step matches the filter.");
});
