import { expect, test } from "vitest";
import type { RunRevision } from "@/api/schema";
import { newerRevision, newerRevisionWords, revisionNote, revisionWords } from "./revisions";

const revision = (number: number, supersedes: number | null): RunRevision => ({
  id: `run-${number}`,
  revision: number,
  supersedes: supersedes === null ? null : `run-${supersedes}`,
  steps: 10 * number,
  created_at: "2026-05-01T10:00:00Z",
});
// The second contradicts the first, the third continues the first, the fourth the third.
const revisions = [revision(4, 3), revision(3, 1), revision(2, null), revision(1, null)];

test("finds the newest revision that continues a run", () => {
  const newer = newerRevision({ latest: "run-4", revisions, steps: 28 });
  expect(newer).toEqual({ id: "run-4", revision: 4, added_steps: 12 });
  expect(newerRevision({ latest: null, revisions, steps: 20 })).toBeNull();
});

test("names what a newer revision adds", () => {
  const newer = { id: "run-2", revision: 2, added_steps: 12 };
  expect(newerRevisionWords("this run", newer)).toBe("A newer revision of this run exists (12 more steps).");
  expect(newerRevisionWords("the base run", { ...newer, added_steps: 0 })).toBe(
    "A newer revision of the base run exists.",
  );
});

test("counts revisions up to the newest", () => {
  expect(revisionWords({ revision: 2, revisions })).toBe("Revision 2 of 4");
});

test("marks conflicts and revisions that continue an earlier one", () => {
  expect(revisions.map((item) => revisionNote(item, revisions))).toEqual([
    "",
    "continues revision 1",
    "conflicting recording",
    "",
  ]);
});
