import { expect, test } from "vitest";
import { numberRanges } from "./ranges";

test.each([
  [[], ""],
  [[5], "5"],
  [[1, 2, 4], "1, 2, 4"],
  [[1, 2, 3, 7], "1–3, 7"],
  [[1, 3, 5, 7, 9, 11, 13, 15, 16], "1, 3, 5, 7, 9, 11, 3 more"],
])("names %j", (numbers, words) => expect(numberRanges(numbers)).toBe(words));
