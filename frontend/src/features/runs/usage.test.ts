import { expect, test } from "vitest";
import { callWords, costWords, tokenCounts } from "./usage";

const NO_USAGE = {
  calls: 0,
  reused_calls: 0,
  tokens_in: 0,
  tokens_out: 0,
  tokens_cached: 0,
  cost_usd: null,
  unpriced_calls: 0,
};

test("marks unknown and incomplete costs", () => {
  expect(costWords({ ...NO_USAGE, calls: 1, unpriced_calls: 1 })).toBe("–");
  expect(costWords({ ...NO_USAGE, calls: 2, cost_usd: 0.03, unpriced_calls: 1 })).toBe("$0.03 + ?");
  expect(costWords({ ...NO_USAGE, calls: 2, cost_usd: 0.03 })).toBe("$0.03");
});

test("counts reused calls separately", () => {
  expect(callWords({ ...NO_USAGE, calls: 3 })).toBe("3 calls");
  expect(callWords({ ...NO_USAGE, calls: 3, reused_calls: 2 })).toBe("3 calls, 2 reused");
  expect(callWords({ ...NO_USAGE, calls: 1, reused_calls: 1 })).toBe("1 call, all reused");
});

test("does not show unknown tokens as 0", () => {
  expect(tokenCounts({ ...NO_USAGE, calls: 2 })).toEqual([null, null, null]);
  expect(tokenCounts({ ...NO_USAGE, calls: 2, tokens_in: 9 })).toEqual([9, 0, 0]);
});
