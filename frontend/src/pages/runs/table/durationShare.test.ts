import { expect, test } from "vitest";
import { durationShare } from "./durationShare";

test("each factor of a duration adds the same length", () => {
  const [short, middle, long] = [durationShare(100), durationShare(10_000), durationShare(1_000_000)];
  expect(middle - short).toBeCloseTo(long - middle);
});

test("very short and very long runs have the ends of the scale", () => {
  expect(durationShare(0)).toBe(0.03);
  expect(durationShare(1e9)).toBe(1);
});
