import { expect, test } from "vitest";
import { details, withField, withPart } from "./fields";

test("removes a part with its last field", () => {
  const policy = withPart({ order: "reuse" }, "tools", { block: ["drop_*"], ask: [] });
  expect(policy).toEqual({ order: "reuse", tools: { block: ["drop_*"] } });
  expect(withPart(policy, "tools", { block: [] })).toEqual({ order: "reuse" });
  const budgetPolicy = withPart({ budget: { max_steps: 9 } }, "budget", { deadline_s: 60 });
  expect(budgetPolicy).toEqual({ budget: { max_steps: 9, deadline_s: 60 } });
  expect(withPart(budgetPolicy, "budget", { max_steps: null })).toEqual({ budget: { deadline_s: 60 } });
});

test("removing a field restores the policy", () => {
  expect(withField(withField({ strict: true }, "max_turns", 3), "max_turns", undefined)).toEqual({ strict: true });
});

test("describes only changed settings", () => {
  const retries = { max: 3, initial_s: 1, base: 2, cap_s: 60 };
  const usual = { semantic_threshold: 0.85, max_turns: 25, tools: { allow: [], block: [], ask: [] }, retries };
  expect(details({})).toEqual([]);
  expect(details(usual)).toEqual([]);
  const careful = {
    tools: { allow: ["get_*"], block: ["drop"], ask: ["refund", "pay"] },
    semantic_threshold: 1,
    max_turns: 4,
    budget: { max_steps: 9, deadline_s: 60 },
    retries: { max: 0, cap_s: 5 },
  };
  expect(details(careful)).toEqual([
    "only get_*",
    "never drop",
    "asks before refund, pay",
    "similarity ≥ 1",
    "≤ 4 turns",
    "≤ 9 steps",
    "≤ 60 s",
    "0 retries",
    "custom waits",
  ]);
});
