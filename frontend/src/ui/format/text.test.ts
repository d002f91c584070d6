import { expect, test } from "vitest";
import { truncate, sentence } from "./text";

test("a text a little over the limit is shown whole", () => {
  expect(truncate("x".repeat(110), 100)).toHaveLength(110);
  expect(truncate("x".repeat(130), 100)).toHaveLength(100);
});

test("a pair of surrogates is not torn", () => {
  expect(truncate(`${"x".repeat(9)}😀${"y".repeat(90)}`, 10)).toBe("x".repeat(9));
});

test("a remark becomes a sentence, and one that is a sentence stays as it is", () => {
  expect(sentence("step 5: no answer")).toBe("Step 5: no answer.");
  expect(sentence("Is it there?")).toBe("Is it there?");
});
