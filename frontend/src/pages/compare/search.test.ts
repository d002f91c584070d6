import { expect, test } from "vitest";
import { parseCompareSearch } from "./search";

test("keeps present sides and numeric ids", () => {
  expect(parseCompareSearch({ base: "019a", candidate: 77, other: "x" })).toEqual({ base: "019a", candidate: "77" });
  expect(parseCompareSearch({ base: "", candidate: null })).toEqual({});
});
