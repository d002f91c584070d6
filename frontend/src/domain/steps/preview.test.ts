import { expect, test } from "vitest";
import { answerPreviews, stepPreview } from "./preview";

test("shows what a step says without the marks of Markdown", () => {
  const summary = "Booked: **Flight HAT136** `JFK`";
  expect(stepPreview({ type: "model", summary, name: "gpt-4o" })).toBe("Booked: Flight HAT136 JFK");
  expect(stepPreview({ type: "turn", summary: "", name: "**Hi**" })).toBe("Hi");
});

test("shows the arguments of a tool as they are", () => {
  const summary = "search(**kwargs, **options)";
  expect(stepPreview({ type: "tool", summary, name: "search" })).toBe(summary);
});

test("keeps the marks of answers that differ in nothing else", () => {
  expect(answerPreviews("**Booked.**", "Refused.")).toEqual(["Booked.", "Refused."]);
  expect(answerPreviews("**Booked.**", "Booked.")).toEqual(["**Booked.**", "Booked."]);
});
