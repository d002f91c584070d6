import { expect, test } from "vitest";
import type { RunRef } from "@/api/schema";
import { deletionNotices, revisionNotices } from "./runNotices";

const runRef = (id: string): RunRef => ({
  id,
  name: "Refund",
  app: "order-desk",
  status: "completed",
  source: "import",
  fork_sequence_no: null,
  source_run: null,
  original: null,
});
const runs = { base: runRef("r1"), candidate: runRef("r2") };
const newer = (id: string) => ({ id, revision: 3, added_steps: 2 });

test("names newer revisions by side", () => {
  const notices = revisionNotices({ ...runs, newer_revisions: { base: null, candidate: newer("r3") } });
  expect(notices).toEqual([{ side: "candidate", newer: newer("r3") }]);
});

test("leaves out a revision that is compared itself", () => {
  expect(revisionNotices({ ...runs, newer_revisions: { base: newer("r2"), candidate: null } })).toEqual([]);
});

test("a report that is being computed has none", () => {
  expect(revisionNotices({ ...runs, newer_revisions: null })).toEqual([]);
});

test("names the deleted runs of a report", () => {
  const [base, candidate] = [runRef("b"), runRef("c")];
  const deletions = { base: null, candidate: "2026-11-23T10:00:00Z" };
  expect(deletionNotices({ base, candidate, deletions: null })).toEqual([]);
  expect(deletionNotices({ base, candidate, deletions })).toEqual([
    { side: "candidate", run: "c", time: "2026-11-23T10:00:00Z" },
  ]);
});
