import { expect, test } from "vitest";
import type { SessionView, ProfileList } from "@/api/schema";
import { policyChoices, profileChoices } from "./choices";

const profiles = {
  profiles: [
    { digest: "p1", names: ["brief"] },
    { digest: "p2", names: [] },
  ],
} as unknown as ProfileList;
const session = {
  overrides: { overrides: [{}] },
  overrides_digest: "p1",
  policy_digest: "q1",
} as unknown as SessionView;

test("offers the replay's changes besides saved profiles", () => {
  expect(profileChoices(profiles, { ...session, overrides_digest: "p9" })).toEqual([
    { value: "p9", label: "this replay's changes" },
    { value: "p1", label: "brief" },
  ]);
});

test("offers the replay's saved profile once", () => {
  expect(profileChoices(profiles, session)).toEqual([{ value: "p1", label: "brief (this replay's changes)" }]);
});

test("offers only saved profiles without changes", () => {
  const unchanged = { ...session, overrides: { overrides: [] } } as unknown as SessionView;
  expect(profileChoices(profiles, undefined)).toEqual([{ value: "p1", label: "brief" }]);
  expect(profileChoices(undefined, unchanged)).toEqual([]);
  expect(policyChoices({ policies: [] }, session)).toEqual([{ value: "q1", label: "this replay's policy" }]);
});
