import { expect, test } from "vitest";
import { cut } from "./text";

test("a text a little over the limit is shown whole", () => {
  expect(cut("x".repeat(110), 100)).toHaveLength(110);
  expect(cut("x".repeat(130), 100)).toHaveLength(100);
});

test("a pair of surrogates is not torn", () => {
  expect(cut(`${"x".repeat(9)}😀${"y".repeat(90)}`, 10)).toBe("x".repeat(9));
});
