import { expect, test } from "vitest";
import type { Caption, RunRef } from "@/api/schema";
import { baseName, candidateName } from "./candidateName";

const base: RunRef = {
  id: "base",
  name: "Refund",
  app: "",
  status: "failed",
  source: "live",
  fork_sequence_no: null,
  source_run: null,
  original: null,
};
const plain: Caption = { title: "", note: "", change: null, answer: "" };
const nameOf = (changes: Partial<RunRef>, caption: Partial<Caption> = {}) =>
  candidateName({
    base,
    candidate: { ...base, id: "other", ...changes },
    captions: { base: plain, candidate: { ...plain, ...caption } },
  });

test("a candidate is called by its given name or its change", () => {
  const change = { text: "+ “In cents.”", target: "system prompt", count: 1 };
  expect(nameOf({ source_run: "base", fork_sequence_no: 5 }, { change })).toBe("+ “In cents.”");
  expect(nameOf({ source_run: "base", fork_sequence_no: 5 }, { change, title: "Cents fix" })).toBe("Cents fix");
});

test("distinguishes the candidate from the base", () => {
  expect(nameOf({ source_run: "base", fork_sequence_no: 5 })).toBe("fork from step 5");
  expect(nameOf({ name: "Exchange" })).toBe("Exchange");
  expect(nameOf({})).toBe("another run of the same name");
});

test("a base has its own change, if it is a fork itself", () => {
  const change = { text: "m1 → m2", target: "model", count: 1 };
  expect(baseName({ base, candidate: base, captions: { base: { ...plain, change }, candidate: plain } })).toBe(
    "m1 → m2",
  );
});
