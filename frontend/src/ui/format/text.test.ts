import { expect, test } from "vitest";
import { truncate, sentence } from "./text";

test("keeps texts slightly over the limit", () => {
  expect(truncate("x".repeat(110), 100)).toHaveLength(110);
  expect(truncate("x".repeat(130), 100)).toHaveLength(100);
});

test("never splits a surrogate pair", () => {
  expect(truncate(`${"x".repeat(9)}😀${"y".repeat(90)}`, 10)).toBe("x".repeat(9));
});

test("turns remarks into sentences", () => {
  expect(sentence("step 5: no answer")).toBe("Step 5: no answer.");
  expect(sentence("Is it there?")).toBe("Is it there?");
});
