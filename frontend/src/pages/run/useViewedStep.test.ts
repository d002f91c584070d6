import { expect, test } from "vitest";
import { aStep } from "@/testing/factories";
import { movedTo } from "./useViewedStep";

const steps = [aStep({ id: "root", sequence_no: 1 }), aStep({ id: "call", sequence_no: 2 })];

test("a step that got another number is followed", () => {
  expect(movedTo({ id: "call", number: 1 }, steps, 1)).toBe(2);
});

test("a step that kept its number stays", () => {
  expect(movedTo({ id: "call", number: 2 }, steps, 2)).toBeNull();
});

test("the user's own selection is not undone", () => {
  expect(movedTo({ id: "call", number: 1 }, steps, 2)).toBeNull();
});

test("nothing is followed before a step was in view, or after it is gone", () => {
  expect(movedTo(null, steps, 1)).toBeNull();
  expect(movedTo({ id: "other", number: 1 }, steps, 1)).toBeNull();
});
