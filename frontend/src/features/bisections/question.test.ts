import { expect, test } from "vitest";
import { firstQuestion } from "./question";

test("begins with the outcome if replays can have one without further checks", () => {
  expect(firstQuestion({ outcome: "failed", outcome_basis: "validator" })).toBe("outcome");
  expect(firstQuestion({ outcome: "failed", outcome_basis: "import" })).toBe("check");
  expect(firstQuestion({ outcome: "unverified", outcome_basis: "validator" })).toBe("check");
  expect(firstQuestion(undefined)).toBe("check");
});
