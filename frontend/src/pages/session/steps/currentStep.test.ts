import { expect, test } from "vitest";
import { aSession } from "@/testing/factories";
import { currentWords, isAgentQuestion } from "./currentStep";

const question = { sequence_no: 1, tool_name: "refund", arguments: {}, text: "", may_run: false };

test("the row of a question of a running agent names no recorded step", () => {
  const session = aSession({ status: "awaiting_operator", engine: "agent", question });
  expect(isAgentQuestion(session)).toBe(true);
  expect(currentWords(session)).toBe("the agent waits for your answer");
});

test("a replay that follows the recording asks at its step", () => {
  const session = aSession({ status: "awaiting_operator", question });
  expect(isAgentQuestion(session)).toBe(false);
  expect(currentWords(session)).toBe("waits for your answer");
});
