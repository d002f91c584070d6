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

test("what a replay changed is offered beside what is stored by name", () => {
  expect(profileChoices(profiles, { ...session, overrides_digest: "p9" })).toEqual([
    { value: "p9", label: "this replay's changes" },
    { value: "p1", label: "brief" },
  ]);
});

test("a stored profile that is the replay's own is offered once", () => {
  expect(profileChoices(profiles, session)).toEqual([{ value: "p1", label: "brief (this replay's changes)" }]);
});

test("a recording, and a replay without changes, offer only what is stored", () => {
  const unchanged = { ...session, overrides: { overrides: [] } } as unknown as SessionView;
  expect(profileChoices(profiles, undefined)).toEqual([{ value: "p1", label: "brief" }]);
  expect(profileChoices(undefined, unchanged)).toEqual([]);
  expect(policyChoices({ policies: [] }, session)).toEqual([{ value: "q1", label: "this replay's policy" }]);
});
