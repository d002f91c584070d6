import { expect, test } from "vitest";
import { aStep, aTurn } from "@/testing/factories";
import { blockWords, callLine, checkTitle, cutWords, modelVerb, roleWord } from "./wording";

const whole = (text: string) => ({ text, length: text.length });
const call = (text: string, length = text.length) => ({ id: "c1", name: "get_order", arguments: { text, length } });

test.each([
  ['{"order_id": "A-1", "deep": {"a": [1]}}', 'get_order(order_id: "A-1", deep: {"a":[1]})'],
  ["{}", "get_order()"],
  ["", "get_order()"],
  ["*** Begin Patch", "get_order(*** Begin Patch)"],
])("a call with the arguments %s is one line of code", (text, line) => {
  expect(callLine(call(text))).toBe(line);
});

test("marks arguments that were cut", () => {
  expect(callLine(call('{"note": "long', 9_000))).toBe('get_order({"note": "long…)');
  expect(cutWords({ text: "ab", length: 9_000 })).toBe("Show all 9,000 characters");
  expect(cutWords(whole("ab"))).toBe("");
});

test("says what a model does", () => {
  expect(modelVerb(aTurn({ text: whole("Yes.") }))).toBe("answers");
  expect(modelVerb(aTurn({ calls: [call("{}")] }))).toBe("asks for");
  expect(modelVerb(aTurn({ text: whole("Let me look."), calls: [call("{}")] }))).toBe("answers and asks for");
  expect(modelVerb(null)).toBe("");
});

test("names the author of a message", () => {
  expect(roleWord(aTurn({ role: "user" }))).toBe("User");
  expect(roleWord(aTurn({ role: "user", name: "critic" }))).toBe("User · critic");
  expect(roleWord(aTurn({ role: "constructor" }))).toBe("constructor");
  expect(roleWord(aTurn({ role: "__proto__" }))).toBe("__proto__");
  expect(roleWord(aTurn({ role: "narrator" }))).toBe("narrator");
});

test("claims that a check passed only if it is known", () => {
  const check = (status: "ok" | "error" | "unverified") =>
    checkTitle(aStep({ sequence_no: 1, type: "validator", name: "refund fits", status }));
  expect(check("ok")).toBe("Check: refund fits");
  expect(check("error")).toBe("Check failed: refund fits");
  expect(check("unverified")).toBe("Check did not run: refund fits");
});

test("states content that is not text", () => {
  expect(blockWords(["image_url", "image_url", "file"])).toBe("3 parts not shown here (image url, file)");
});
