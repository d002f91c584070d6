import { expect, test } from "vitest";
import { draftOf, EMPTY_DRAFT, isEqualDraft, messagesPath, newRule, personalDataWords, readSample } from "./draft";

test("an app without a policy has an empty draft", () => {
  expect(isEqualDraft(draftOf(undefined), EMPTY_DRAFT)).toBe(true);
});

test("a new rule has a name of its own", () => {
  const first = newRule([]);
  const second = newRule([{ ...first, name: "rule-2" }]);
  expect([first.name, second.name]).toEqual(["rule-1", "rule-3"]);
});

test("a sample is JSON or a text", () => {
  expect(readSample('{"a": 1}')).toEqual({ a: 1 });
  expect(readSample("my key")).toBe("my key");
});

test("kinds of personal data are written as people write them", () => {
  expect(["credit-card", "iban", "ip-address"].map(personalDataWords)).toEqual(["credit card", "IBAN", "IP address"]);
});

test("names the path at which a model is shown a field that a rule replaces in outputs", () => {
  const rule = { ...newRule([]), path: "/output/email" };
  expect(messagesPath([rule])).toBe("/input/messages/*/content/email");
  expect(messagesPath([rule, { ...rule, path: "/input/messages/*/content/email" }])).toBe("");
  expect(messagesPath([rule, { ...rule, path: "/input/**/email" }])).toBe("");
  expect(messagesPath([{ ...rule, action: "raw" }])).toBe("");
  expect(messagesPath([newRule([])])).toBe("");
});
