import { expect, test } from "vitest";
import { scrollTo } from "./reveal";

const view = { top: 1000, height: 500 };

test("a row in sight moves nothing", () => {
  expect(scrollTo(40, 28, view)).toBeNull();
});

test("a row just outside comes in with some rows around it", () => {
  const down = scrollTo(53, 28, view) ?? expect.fail();
  expect(down + view.height).toBe(53 * 28 + 28 + 56);
  expect(scrollTo(34, 28, view)).toBe(34 * 28 - 56);
});

test("a far row lands in the middle, the first at the top", () => {
  expect(scrollTo(1000, 28, view)).toBe(28_000 - 236);
  expect(scrollTo(0, 28, view)).toBe(0);
});

test("a view lower than a few rows still ends on the row", () => {
  expect(scrollTo(10, 28, { top: 0, height: 30 })).toBe(279);
});
