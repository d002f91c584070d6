import { expect, test } from "vitest";
import type { HookOutcomeView } from "@/api/schema";
import { outcomeWords } from "./hooks";

const OUTCOME: HookOutcomeView = {
  sequence_no: 4,
  event: "pre_tool_use",
  tool_name: "get_order",
  asked: { order_id: "B-9" },
  hook: "right",
  decision: { action: "deny", message: "not today" },
  failures: [],
  at: "2026-11-22T02:00:00Z",
};

test("a denial shows its reason", () => {
  expect(outcomeWords(OUTCOME)).toEqual({
    action: "denied the call",
    message: "not today",
    request: "",
    tone: "failed",
  });
});

test("changed arguments show the original ones", () => {
  const words = outcomeWords({ ...OUTCOME, decision: { action: "modify_args", args: { order_id: "A-1" } } });
  expect([words.message, words.request]).toEqual(['{ order_id: "A-1" }', '{ order_id: "B-9" }']);
});

test("a failed hook made no decision", () => {
  expect(outcomeWords({ ...OUTCOME, hook: "", decision: { action: "continue" } }).action).toBe("did not answer");
});

test.each(["constructor", "__proto__"])("an action named %s is none", (action) => {
  expect(outcomeWords({ ...OUTCOME, decision: { action } })).toMatchObject({ action: "did not answer", tone: "plain" });
});
