import { expect, test } from "vitest";
import type { Activity } from "@/api/schema";
import { emptyWords, findingWords, stateWords, subjectWords } from "./wording";

const entry: Activity = {
  kind: "replay",
  id: "1",
  state: "completed",
  run: "r",
  run_name: "Refund",
  cost_usd: null,
  candidate_name: "",
  fork_sequence_no: 5,
  subject: "",
  finding: "",
  base_outcome: "failed",
  outcome: "passed",
  confidence: null,
  progress: null,
  diff: null,
  author: "local",
  created_at: "2026-11-23T10:00:00Z",
};

test("says what an entry does", () => {
  expect(subjectWords(entry)).toBe("Replay from step 5");
  expect(subjectWords({ ...entry, subject: "+ “cents”" })).toBe("+ “cents”");
  expect(subjectWords({ ...entry, kind: "diff" })).toBe("Compared with fork from step 5");
  const foreign = { ...entry, candidate_name: "Other", fork_sequence_no: null };
  expect(subjectWords({ ...foreign, kind: "diff" })).toBe("Compared with “Other”");
  expect(subjectWords({ ...foreign, kind: "proof" })).toBe("What made the candidate different");
});

test("says what came of it", () => {
  expect(findingWords({ ...entry, subject: "+ “cents”", finding: "it refunded 42" })).toBe(" → it refunded 42");
  expect(findingWords({ ...entry, subject: "Probably chance:", finding: "two trials" })).toBe(" two trials");
  expect(findingWords(entry)).toBe("");
});

test("says how far it is", () => {
  expect(stateWords({ ...entry, state: "running", progress: { finished: 2, total: 9 } }).words).toBe("Running: 2 of 9");
  expect(stateWords(entry).words).toBe("Done");
});

test("an empty kind says how to get its first entry", () => {
  expect(emptyWords({ kind: "proof" })).toEqual({ title: "No proofs yet", text: "Open a diff and press Prove it." });
  expect(emptyWords({}).title).toBe("Nothing here yet");
  expect(emptyWords({ kind: "proof", state: "failed" }).title).toBe("No activity matches");
});
