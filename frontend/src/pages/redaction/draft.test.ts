import { expect, test } from "vitest";
import { draftOf, EMPTY_DRAFT, isEqualDraft, newRule, personalDataWords, readSample } from "./draft";

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
