import { expect, test } from "vitest";
import { emptyDraft, type Draft } from "./draft";
import { draftOfFork, otherForks, withDraft, withForkMoved, type Drafts } from "./drafts";

const changed: Draft = { overrides: [{ match: { type: "model" }, prompt: { system: "Be brief." } }], policy: {} };
const drafts: Drafts = { 5: changed };

test("a fork from another step starts without the changes of the first", () => {
  expect(draftOfFork(drafts, 10)).toBe(emptyDraft);
  expect(draftOfFork(drafts, 5)).toBe(changed);
  expect(draftOfFork(drafts, null)).toBe(emptyDraft);
});

test("a fork that moves to an earlier step takes its changes along", () => {
  expect(draftOfFork(withForkMoved(drafts, 5, 3), 3)).toBe(changed);
  expect(withForkMoved(drafts, 5, 8)).toBe(drafts);
  const ownDraft: Draft = { ...emptyDraft, policy: { models: "recorded" } as Draft["policy"] };
  expect(draftOfFork(withForkMoved({ ...drafts, 3: ownDraft }, 5, 3), 3)).toBe(ownDraft);
});

test("only forks with changes are kept and named", () => {
  expect(withDraft(drafts, 5, emptyDraft)).toEqual({});
  expect(withDraft(drafts, 8, changed)).toEqual({ 5: changed, 8: changed });
  expect(otherForks({ 5: changed, 8: changed, 9: { overrides: [], policy: { a: 1 } as Draft["policy"] } }, 8)).toEqual([
    5,
  ]);
});
