import { expect, test } from "vitest";
import type { IgnoreRule, Proposal } from "@/api/schema";
import { caveat, initialChoice, ruleWords } from "./rules";

const rule: IgnoreRule = { type: "tool", name: "search", pointer: "/request_id", within: null };

function proposal(changes: Partial<Proposal> = {}): Proposal {
  return {
    rule,
    kind: "uuid",
    pairs: 2,
    examples: [],
    unifies: 2,
    steps: [],
    collisions: [],
    recommended: true,
    ...changes,
  };
}

test("describes the scope of a rule", () => {
  expect(ruleWords(rule)).toBe("tool search");
  expect(ruleWords({ type: "model", name: "*", pointer: "/messages/*/content", within: "timestamp" })).toBe(
    "every model step, only a timestamp in the text",
  );
});

test("explains why a proposal is not recommended", () => {
  expect(caveat(proposal())).toBeNull();
  const unsure = { recommended: false };
  const collisions: Proposal["collisions"] = [{ side: "base", type: "tool", name: "search", steps: [1, 2] }];
  expect(caveat(proposal({ ...unsure, collisions }))).toMatch(/different calls/);
  expect(caveat(proposal({ ...unsure, unifies: 0 }))).toMatch(/other fields/);
  expect(caveat(proposal({ ...unsure, kind: "date" }))).toMatch(/date/);
  expect(caveat(proposal({ ...unsure, kind: "id" }))).toMatch(/identify a record/);
});

test("preselects recommended, unaccepted proposals", () => {
  const secondRule = { ...rule, pointer: "/at" };
  const proposals = [proposal(), proposal({ rule: secondRule }), proposal({ rule: secondRule, recommended: false })];
  expect(initialChoice(proposals, [rule])).toEqual([1]);
});
