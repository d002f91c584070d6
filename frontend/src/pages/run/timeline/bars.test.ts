import { expect, test } from "vitest";
import { aStep } from "@/testing/factories";
import { indexSteps, noFilter, visibleRows } from "../steps/tree";
import { barOf, countWithoutTime, rowsInRange, wholeTime, withoutIdleTime } from "./bars";

const step = (sequence_no: number, offset_ms: number | null, duration_ms: number | null) =>
  aStep({ sequence_no, offset_ms, duration_ms });
const rowsOf = (...steps: ReturnType<typeof step>[]) => visibleRows(indexSteps(steps), new Set(), noFilter);

test("the whole time spans all steps, also one that began before the run", () => {
  expect(wholeTime(rowsOf(step(1, 0, 100), step(2, -5, 1), step(3, 90, 40)))).toEqual({ start: -5, end: 130 });
  expect(wholeTime(rowsOf(step(1, 7, null)))).toEqual({ start: 0, end: 7 });
  expect(wholeTime(rowsOf(step(1, 0, 0)))).toEqual({ start: 0, end: 1 });
  expect(wholeTime(rowsOf(step(1, null, 100)))).toBeNull();
});

test("a fork is shown without the time since its recording", () => {
  const day = 86_400_000;
  const rows = rowsOf(
    step(1, -2 * day, 100),
    step(2, -2 * day + 10, 50),
    step(3, -day, 20),
    step(4, null, null),
    step(5, 30, 40),
    step(6, 500, 5),
  );
  const offsets = withoutIdleTime(rows).map((row) => row.step.offset_ms);
  expect(offsets).toEqual([-90, -80, 10, null, 30, 500]);
});

test("a run of its own keeps its times, also of a step that began before it", () => {
  const rows = rowsOf(step(1, -5, 10), step(2, 90, 40), step(3, 5_000, 1));
  expect(withoutIdleTime(rows).map((row) => row.step)).toEqual(rows.map((row) => row.step));
});

test("a step without a time has no bar", () => {
  expect(barOf(step(1, null, 100), { start: 0, end: 100 })).toBeNull();
  expect(countWithoutTime(rowsOf(step(1, null, 5), step(2, 0, 1)))).toBe(1);
});

test("a bar is cut at the ends of the range", () => {
  expect(barOf(step(1, 50, 100), { start: 100, end: 200 })).toEqual({
    left: 0,
    width: 50,
    startsBefore: true,
    endsAfter: false,
  });
  expect(barOf(step(1, 150, null), { start: 100, end: 200 })).toMatchObject({ left: 50, width: 0 });
  expect(barOf(step(1, 300, 5), { start: 100, end: 200 })).toBeNull();
});

test("a zoomed timeline lists only steps that are going on, the whole one lists all", () => {
  const rows = rowsOf(step(1, 0, 1_000), step(2, 0, 10), step(3, 500, 10), step(4, null, null));
  const whole = { start: 0, end: 1_000 };
  const numbers = (range: typeof whole) => rowsInRange(rows, range, whole).map(({ step }) => step.sequence_no);
  expect(numbers(whole)).toEqual([1, 2, 3, 4]);
  expect(numbers({ start: 400, end: 600 })).toEqual([1, 3]);
});
