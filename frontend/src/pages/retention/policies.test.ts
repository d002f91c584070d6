import { expect, test } from "vitest";
import type { RetentionPolicyView } from "@/api/schema";
import { daysWords, draftOf, draftProblem, NEW_DRAFT, policiesWith, scopeWords, termsOf } from "./policies";

const desk: RetentionPolicyView = {
  app: "desk",
  tag: "",
  days: 30,
  keep_pinned: true,
  legal_hold: false,
  by: "ada",
  at: "2026-11-20T10:00:00Z",
};

test("names the runs of a policy", () => {
  expect(scopeWords({ app: "", tag: "" })).toBe("all runs");
  expect(scopeWords({ app: "desk", tag: "" })).toBe("desk");
  expect(scopeWords({ app: "desk", tag: "golden" })).toBe("desk, tagged golden");
  expect(scopeWords({ app: "", tag: "golden" })).toBe("all apps, tagged golden");
  expect([daysWords(null), daysWords(1), daysWords(30)]).toEqual(["forever", "1 day", "30 days"]);
});

test("a draft survives the round trip, and empty days mean forever", () => {
  expect(termsOf(draftOf({ ...desk, days: null }))).toEqual({
    app: "desk",
    tag: "",
    days: null,
    keep_pinned: true,
    legal_hold: false,
  });
});

test("rejects odd days and a second policy for the same runs", () => {
  for (const days of [0, 1.5, 40_000]) expect(draftProblem({ ...NEW_DRAFT, days }, [], null)).toContain("whole number");
  expect(draftProblem({ ...NEW_DRAFT, app: "desk" }, [desk], null)).toContain("for desk already");
  expect(draftProblem({ ...NEW_DRAFT, app: "desk" }, [desk], desk)).toBeNull();
  expect(draftProblem({ ...NEW_DRAFT, days: "" }, [desk], null)).toBeNull();
});

test("plans with the draft in place of the policy it edits", () => {
  const policies = policiesWith({ ...draftOf(desk), days: 7 }, [desk, { ...desk, app: "shop" }]);
  expect(policies.map(({ app, days }) => [app, days])).toEqual([
    ["shop", 30],
    ["desk", 7],
  ]);
});
