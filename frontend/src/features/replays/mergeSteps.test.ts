import { expect, test } from "vitest";
import { aStep } from "@/testing/factories";
import { mergeSteps } from "./mergeSteps";

test("replaces a rolled-back step", () => {
  const before = [aStep({ sequence_no: 1, name: "first" }), aStep({ sequence_no: 2, name: "old" })];
  const after = [aStep({ sequence_no: 2, name: "new" }), aStep({ sequence_no: 3, name: "third" })];
  expect(mergeSteps(before, after).map((step) => step.name)).toEqual(["first", "new", "third"]);
});
