import { expect, test } from "vitest";
import { scrollTo } from "./reveal";

const view = { top: 1000, height: 500 };

test("does not scroll to a visible row", () => {
  expect(scrollTo(40, 28, view)).toBeNull();
});

test("scrolls minimally to a near row", () => {
  const down = scrollTo(53, 28, view) ?? expect.fail();
  expect(down + view.height).toBe(53 * 28 + 28 + 56);
  expect(scrollTo(34, 28, view)).toBe(34 * 28 - 56);
});

test("centres a far row", () => {
  expect(scrollTo(1000, 28, view)).toBe(28_000 - 236);
  expect(scrollTo(0, 28, view)).toBe(0);
});

test("handles a very small view", () => {
  expect(scrollTo(10, 28, { top: 0, height: 30 })).toBe(279);
});
