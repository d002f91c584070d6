import { expect, test } from "vitest";
import type { OutcomeRuleView } from "@/api/schema";
import { draftOf, draftProblem, isEqualRule, movedUp, toRule } from "./draft";

const rule: OutcomeRuleView = {
  app: "desk",
  thresholds: { helpful: { at_least: 0.7, at_most: null }, toxicity: { at_least: null, at_most: 0.1 } },
  tags: { "outcome:failed": "failed" },
  deciders: [{ source: "person", name: "" }],
  defaults: {},
  default_deciders: [],
  by: "",
  at: null,
  is_applied: true,
};

test("a rule survives editing without changes", () => {
  const draft = draftOf(rule);
  expect(toRule(draft)).toEqual({
    deciders: [{ source: "person", name: "" }],
    thresholds: { helpful: { at_least: 0.7, at_most: null }, toxicity: { at_least: null, at_most: 0.1 } },
    tags: { "outcome:failed": "failed" },
  });
  expect(isEqualRule(draft, draftOf(rule))).toBe(true);
});

test("empty rows are not saved", () => {
  const draft = draftOf(rule);
  const added = {
    ...draft,
    thresholds: [...draft.thresholds, { name: "", side: "at_least" as const, value: "" }],
    tags: [...draft.tags, { tag: "", outcome: "failed" as const }],
  };
  expect(isEqualRule(added, draft)).toBe(true);
});

test("a rule needs a decider and one bound per score", () => {
  const draft = draftOf(rule);
  expect(draftProblem(draft)).toBeNull();
  expect(draftProblem({ ...draft, deciders: [] })).toMatch(/decides/);
  const twice = [...draft.thresholds, { name: "helpful", side: "at_most" as const, value: 1 }];
  expect(draftProblem({ ...draft, thresholds: twice })).toMatch(/one bound/);
});

test("moving up swaps with the item before", () => {
  expect(movedUp(["a", "b", "c"], 2)).toEqual(["a", "c", "b"]);
  expect(movedUp(["a", "b"], 0)).toEqual(["a", "b"]);
});
