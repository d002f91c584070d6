import { expect, test } from "vitest";
import { aRun } from "@/testing/factories";
import { outcomeLook, outcomeNote, outcomeTitle, outcomeWord } from "./outcome";

test("a failed task overrides completion", () => {
  const run = aRun({ outcome: "failed", outcome_reason: "reward 0" });
  expect([outcomeLook(run), outcomeWord(run), outcomeTitle(run)]).toEqual(["failed", "Failed", "Failed: reward 0"]);
});

test("only judged runs appear as passed", () => {
  expect(outcomeLook(aRun({ outcome: "passed" }))).toBe("passed");
  expect(outcomeLook(aRun())).toBe("ended");
  expect(outcomeTitle(aRun())).toBe("Unknown: completed, not judged");
  expect(outcomeLook(aRun({ outcome: "unverified" }))).toBe("unverified");
});

test("a cut-off recording names its reason", () => {
  const run = aRun({ status: "partial", outcome_reason: "the end of the run was not recorded" });
  expect(outcomeTitle(run)).toBe("Unknown: the end of the run was not recorded");
});

test("a judgement overrides errors and recording", () => {
  expect(outcomeLook(aRun({ errors: 2 }))).toBe("errors");
  expect(outcomeLook(aRun({ errors: 2, outcome: "passed" }))).toBe("passed");
  expect(outcomeLook(aRun({ status: "running" }))).toBe("running");
  expect(outcomeWord(aRun({ status: "running" }))).toBe("Recording");
  expect(outcomeWord(aRun({ status: "running", source: "replay" }))).toBe("Replaying");
});

test("a row names what leaves a run undecided", () => {
  expect(outcomeNote(aRun({ outcome: "unverified" }))).toBe("check not run");
  expect(outcomeNote(aRun({ errors: 2 }))).toBe("2 errors");
  expect([outcomeNote(aRun({ outcome: "failed", errors: 2 })), outcomeNote(aRun())]).toEqual(["", ""]);
});
