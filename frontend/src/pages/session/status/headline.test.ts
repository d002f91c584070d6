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

test("claims nothing about what it does not know", () => {
  expect(headlineOf({ answer: "Long…", source_answer: "Long…" })).toBe("The answer begins as recorded");
  expect(headlineOf({ answer: "", source_answer: "" })).toBe("Replayed to the end");
  expect(headline(aSession({ status: "failed_execution", answer: "Refunded." }))).toBe("The replay failed");
});
