// Where the steps of a run are on its time scale.
import type { StepSummary } from "@/api/schema";
import type { Node } from "../steps/tree";
import { spanOf, type TimeRange } from "./scale";

export interface Bar {
  /** In percent of the range. */
  left: number;
  width: number;
  startsBefore: boolean;
  endsAfter: boolean;
}

/** The time of a step; null without a recorded start. A step of unknown duration is a point. */
export function timeOf({ offset_ms, duration_ms }: StepSummary): TimeRange | null {
  return offset_ms === null ? null : { start: offset_ms, end: offset_ms + (duration_ms ?? 0) };
}

/** The time from the start of the run, or an earlier step, to the last end; null if no step has a time. */
export function wholeTime(rows: readonly Node[]): TimeRange | null {
  let [start, end] = [0, -Infinity];
  for (const { step } of rows) {
    const time = timeOf(step);
    if (!time) continue;
    start = Math.min(start, time.start);
    end = Math.max(end, time.end);
  }
  if (end === -Infinity) return null;
  // A run whose steps all took no measurable time still needs a scale.
  return end > start ? { start, end } : { start, end: start + 1 };
}

/**
 * The rows without the idle time before the run began: what a fork reused keeps its recorded durations and order, next
 * to what the fork did, which may be days later.
 */
export function withoutIdleTime(rows: readonly Node[]): readonly Node[] {
  const timedRows = rows.flatMap((row) => {
    const time = timeOf(row.step);
    return time ? [{ row, time }] : [];
  });
  timedRows.sort((a, b) => a.time.start - b.time.start);
  const gaps = timedRows.map(() => 0);
  let latestEnd = Infinity;
  for (const [index, { time }] of timedRows.entries()) {
    if (latestEnd < 0) gaps[index] = Math.max(0, time.start - latestEnd);
    latestEnd = index === 0 ? time.end : Math.max(latestEnd, time.end);
  }
  const shifts = new Map<Node, number>();
  let shift = 0;
  for (const [index, { row }] of [...timedRows.entries()].toReversed()) {
    if (shift > 0) shifts.set(row, shift);
    shift += gaps[index] ?? 0;
  }
  return rows.map((row) => (shifts.has(row) ? shiftedRow(row, shifts.get(row) ?? 0) : row));
}

function shiftedRow(row: Node, shift: number): Node {
  return { ...row, step: { ...row.step, offset_ms: (row.step.offset_ms ?? 0) + shift } };
}

export function countWithoutTime(rows: readonly Node[]): number {
  return rows.reduce((count, { step }) => count + (step.offset_ms === null ? 1 : 0), 0);
}

/** The rows to show: all for the whole run, else those that are going on in the range. */
export function rowsInRange(rows: readonly Node[], range: TimeRange, whole: TimeRange): readonly Node[] {
  if (spanOf(range) >= spanOf(whole)) return rows;
  return rows.filter(({ step }) => {
    const time = timeOf(step);
    return time !== null && time.end >= range.start && time.start <= range.end;
  });
}

/** The part of a step inside a range; null without a time, or outside. */
export function barOf(step: StepSummary, range: TimeRange): Bar | null {
  const time = timeOf(step);
  if (!time || time.end < range.start || time.start > range.end) return null;
  const percent = (time: number) => ((time - range.start) / spanOf(range)) * 100;
  const left = Math.max(0, percent(time.start));
  return {
    left,
    width: Math.min(100, percent(time.end)) - left,
    startsBefore: time.start < range.start,
    endsAfter: time.end > range.end,
  };
}
