import { expect, test } from "vitest";
import type { StoredPolicy, StoredProfile } from "@/api/schema";
import { nameProblem, overridesOf, matchingPolicy, matchingProfile } from "./matching";

const brief = {
  digest: "d1",
  names: ["brief"],
  profile: { overrides: [{ match: { type: "model" }, model: { temperature: 0, seed: 1 } }] },
} as unknown as StoredProfile;
const careful = { digest: "p1", names: ["careful"], policy: { budget: { max_steps: 9 }, order: "reuse" } };

test("matches a profile regardless of order", () => {
  const overrides = [{ model: { seed: 1, temperature: 0 }, match: { type: "model" as const } }];
  expect(matchingProfile({ overrides, policy: {} }, [brief])?.names).toEqual(["brief"]);
  expect(matchingProfile({ overrides: [...overrides, ...overrides], policy: {} }, [brief])).toBeUndefined();
  expect(matchingProfile({ overrides: [], policy: {} }, [{ ...brief, profile: { overrides: [] } }])).toBeUndefined();
});

test("matches an equal policy", () => {
  const policies = [careful as unknown as StoredPolicy];
  const policy = { order: "reuse" as const, budget: { max_steps: 9 } };
  expect(matchingPolicy({ overrides: [], policy }, policies)?.digest).toBe("p1");
  expect(matchingPolicy({ overrides: [], policy: {} }, policies)).toBeUndefined();
});

test("loads a saved profile unchanged", () => {
  expect(overridesOf(brief)).toEqual(brief.profile.overrides);
});

test("explains invalid names", () => {
  expect(nameProblem("brief-2.answers")).toBeNull();
  expect(nameProblem("Brief")).toMatch(/lower-case/);
  expect(nameProblem("deadbeef")).toMatch(/digest/);
});
