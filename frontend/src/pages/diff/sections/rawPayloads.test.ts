import { expect, test } from "vitest";
import type { StepDetail } from "@/api/schema";
import { payloadOf, rawText } from "./rawPayloads";

test.each([
  ["system prompt", "input"],
  ["message list", "input"],
  ["arguments", "input"],
  ["parameters", "input"],
  ["result", "output"],
  ["completion", "output"],
])("a difference in the %s is about the %s", (kind, payload) => {
  expect(payloadOf(kind)).toBe(payload);
});

test("keeps text verbatim and indents values", () => {
  const step = { input: { b: 1, a: 2 }, output: "over\r\nlimit " } as unknown as StepDetail;
  expect(rawText(step, "input")).toBe('{\n  "b": 1,\n  "a": 2\n}');
  expect(rawText(step, "output")).toBe("over\r\nlimit ");
});
