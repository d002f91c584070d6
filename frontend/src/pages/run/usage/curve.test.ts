import { expect, test } from "vitest";
import { aStep } from "@/testing/factories";
import { pointAt, stairs, usageCurve } from "./curve";

const call = (sequence_no: number, tokens: number | null, cost_usd: number | null) =>
  aStep({ sequence_no, tokens_in: tokens, tokens_out: null, cost_usd });

test("adds up model calls only, as the totals do", () => {
  const agent = aStep({ sequence_no: 1, type: "agent", tokens_in: 900, cost_usd: 9 });
  const curve = usageCurve([agent, call(2, 10, 0.5), aStep({ sequence_no: 3, type: "tool" }), call(4, 5, 0.25)]);
  expect(curve.points).toEqual([
    { step: 2, tokens: 10, cost: 0.5 },
    { step: 4, tokens: 15, cost: 0.75 },
  ]);
  expect(curve).toMatchObject({ calls: 2, unknownCosts: 0, unknownTokens: 0 });
});

test("counts unknown costs and tokens", () => {
  expect(usageCurve([call(1, 10, null), call(2, null, 0)])).toMatchObject({
    calls: 2,
    unknownCosts: 1,
    unknownTokens: 1,
  });
});

test("draws long runs with few points, and with the last one", () => {
  const { points } = usageCurve(Array.from({ length: 100_000 }, (_, index) => call(index + 1, 1, 0.001)));
  expect(points.length).toBeLessThanOrEqual(241);
  expect(points.at(-1)).toMatchObject({ step: 100_000, tokens: 100_000 });
});

test("a curve rises at each call", () => {
  const box = { width: 100, height: 50, first: 1, last: 11, top: 10 };
  const values = [
    { step: 1, value: 5 },
    { step: 6, value: 10 },
  ];
  expect(stairs(values, box)).toBe("M0,50H0.0V25.0H50.0V0.0H100");
});

test("finds the sum at a step between two calls", () => {
  const { points } = usageCurve([call(2, 10, 1), call(6, 10, 1)]);
  expect(pointAt(points, 5)?.tokens).toBe(10);
  expect(pointAt(points, 1)).toBeNull();
});
