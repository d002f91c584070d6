import { expect, test } from "vitest";
import type { JudgementName, OutcomeRuleView } from "@/api/schema";
import { agreementWords, draftOf, draftProblem, isEqualRule, movedUp, toRule } from "./draft";

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

test("agreement with people has its interval", () => {
  const judge: Omit<JudgementName, "agreement"> = {
    name: "helpful",
    source: "import",
    kinds: ["score"],
    count: 9,
    lowest: 0,
    highest: 1,
  };
  const agreement = { runs: 50, equal_verdicts: 35, kappa: 0.4, low: -0.124, high: 0.61 };
  expect(agreementWords({ ...judge, agreement })).toBe(
    "helpful (import) agrees on 35 of 50 runs, κ 0.40 (95 %: −0.12 to 0.61)",
  );
  expect(agreementWords({ ...judge, agreement: { ...agreement, kappa: null } })).toContain("κ is unknown");
  expect(agreementWords({ ...judge, agreement: null })).toBe("");
});
