import { expect, test } from "vitest";
import { clamp, pan, rangeBetween, rangeLabel, spanOf, ticksOf, zoom } from "./scale";

const labels = (start: number, end: number, limit = 6) => ticksOf({ start, end }, limit).map(({ label }) => label);
const whole = { start: 0, end: 1_000 };

test.each<[number, number, string[]]>([
  [110, 139, ["110 ms", "115 ms", "120 ms", "125 ms", "130 ms", "135 ms"]],
  [0, 1.2, ["0.0 ms", "0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms", "1.0 ms", "1.2 ms"]],
  [0, 20_000, ["0 s", "5 s", "10 s", "15 s", "20 s"]],
  [1_200, 1_290, ["1.20 s", "1.22 s", "1.24 s", "1.26 s", "1.28 s"]],
  [0, 300_000, ["0:00", "1:00", "2:00", "3:00", "4:00", "5:00"]],
  [125_000, 125_100, ["2:05.00", "2:05.02", "2:05.04", "2:05.06", "2:05.08", "2:05.10"]],
  [0, 4 * 3_600_000, ["0:00", "1:00:00", "2:00:00", "3:00:00", "4:00:00"]],
])("ticks from %d to %d ms are at round times", (start, end, expected) => {
  expect(labels(start, end)).toEqual(expected);
});

test("a scale never has more ticks than fit", () => {
  for (const span of [0.02, 1, 7, 99, 1_234, 59_999, 60_001, 3_000_000, 10 ** 9]) {
    for (const limit of [1, 2, 5, 11]) expect(labels(0, span, limit).length).toBeLessThanOrEqual(limit + 1);
  }
});

test("names a range with one unit", () => {
  expect(rangeLabel({ start: 110, end: 139 })).toBe("110–139 ms");
  expect(rangeLabel({ start: 1_000, end: 2_500 })).toBe("1.00–2.50 s");
  expect(rangeLabel({ start: 60_000, end: 150_000 })).toBe("1:00–2:30");
});

test("zooming keeps the time under the pointer", () => {
  const range = zoom(whole, 0.5, 800, whole);
  expect(range).toEqual({ start: 400, end: 900 });
  expect((800 - range.start) / spanOf(range)).toBeCloseTo(0.8);
  expect(zoom(range, 10, 800, whole)).toEqual(whole);
  expect(spanOf(zoom(whole, 1e-9, 500, whole))).toBeCloseTo(0.01);
});

test("a range stays inside the run", () => {
  expect(pan({ start: 900, end: 1_000 }, 0.5, whole)).toEqual({ start: 900, end: 1_000 });
  expect(pan({ start: 100, end: 200 }, 0.5, whole)).toEqual({ start: 150, end: 250 });
  expect(clamp({ start: -50, end: 50 }, whole)).toEqual({ start: 0, end: 100 });
  expect(clamp({ start: -50, end: 5_000 }, whole)).toEqual(whole);
});

test("a range can be drawn in both directions", () => {
  expect(rangeBetween(300, 100, whole)).toEqual({ start: 100, end: 300 });
  expect(rangeBetween(100, 100, { start: 0, end: 10_000_000 }).start).toBe(50);
});
