import { expect, test } from "vitest";
import type { ProbeView } from "@/api/schema";
import { groupsOf } from "./groups";

const probe = (number: number, step: number, answer: string, more: Partial<ProbeView> = {}) =>
  ({ number, fork: { sequence_no: step }, changed: false, verdict: "failed", answer, note: "", ...more }) as ProbeView;

test("equal answers from one step are one row", () => {
  const groups = groupsOf([
    probe(1, 9, "no"),
    probe(2, 3, "no"),
    probe(3, 9, "no"),
    probe(4, 9, "yes", { verdict: "passed" }),
    probe(5, 9, "no", { changed: true }),
  ]);
  expect(groups.map(({ probes }) => probes.map(({ number }) => number))).toEqual([[2], [1, 3], [4], [5]]);
});
