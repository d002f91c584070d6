import { expect, test } from "vitest";
import { parseCompareSearch } from "./search";

test("takes the sides that are there, numbers as the names they are", () => {
  expect(parseCompareSearch({ base: "019a", candidate: 77, other: "x" })).toEqual({ base: "019a", candidate: "77" });
  expect(parseCompareSearch({ base: "", candidate: null })).toEqual({});
});
