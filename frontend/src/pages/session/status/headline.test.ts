import { expect, test } from "vitest";
import { aSession } from "@/testing/factories";
import { headline } from "./headline";

const headlineOf = (more: Parameters<typeof aSession>[0]) => headline(aSession({ status: "completed_mixed", ...more }));

test("says what became of the answer and the outcome", () => {
  expect(headlineOf({ answer: "Refunded.", outcome: "passed" })).toBe("The answer changed, and the run passes now");
  expect(headlineOf({ answer: "I am sorry.", outcome: "failed" })).toBe(
    "The answer is the same, and the run still fails",
  );
  expect(headlineOf({ answer: "Refunded.", outcome: "unverified" })).toBe(
    "The answer changed, and nothing verified the outcome",
  );
  expect(headlineOf({ answer: "", outcome: "unknown" })).toBe("The new run has no final answer");
});

test("says what an agent and its runner do", () => {
  const agentHeadline = (more: Parameters<typeof aSession>[0]) => headline(aSession({ engine: "agent", ...more }));
  expect(agentHeadline({ status: "pending" })).toBe("Waiting for a runner");
  expect(agentHeadline({ status: "running" })).toBe("The agent is running");
  expect(agentHeadline({ status: "awaiting_operator" })).toBe("The runner is gone");
  expect(agentHeadline({ status: "awaiting_operator", tools_to_allow: ["wipe"] })).toBe("Waiting for your consent");
  expect(headlineOf({ status: "awaiting_operator" })).toBe("Waiting for you");
});

test("claims nothing about what it does not know", () => {
  expect(headlineOf({ answer: "Long…", source_answer: "Long…" })).toBe("The answer begins as recorded");
  expect(headlineOf({ answer: "", source_answer: "" })).toBe("Replayed to the end");
  expect(headline(aSession({ status: "failed_execution", answer: "Refunded." }))).toBe("The replay failed");
});
