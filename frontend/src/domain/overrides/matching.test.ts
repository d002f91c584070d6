import { expect, test } from "vitest";
import type { Override } from "@/api/schema";
import { aStep } from "@/testing/factories";
import { matchesGlob, matchesStep } from "./matching";

test.each([
  [null, "anything", true],
  ["desk-small-*", "desk-small-1", true],
  ["desk-small-*", "desk-large-1", false],
  ["gpt-4?", "gpt-4o", true],
  ["gpt-4?", "gpt-4", false],
  ["[!a-c]x", "dx", true],
  ["[!a-c]x", "bx", false],
  ["a.b+c(1)", "a.b+c(1)", true],
  ["a.*", "abc", false],
  ["[z-a]", "b", false],
  ["Desk*", "desk-1", false],
])("matches %s with %s: %s", (glob, text, expected) => {
  expect(matchesGlob(glob, text)).toBe(expected);
});

test("an override by type applies to its range, its names and its models", () => {
  const match = { step: null, type: "model", name: null, model: "desk-*", since: 3, before: 6 };
  const override = { match, prompt: null } as unknown as Override;
  const step = (sequence_no: number, model = "desk-small-1") =>
    matchesStep(override, aStep({ sequence_no, type: "model", model }));
  expect([2, 3, 5, 6].map((number) => step(number))).toEqual([false, true, true, false]);
  expect(step(3, "gpt-4o")).toBe(false);
  expect(matchesStep(override, aStep({ sequence_no: 3, type: "tool" }))).toBe(false);
});
