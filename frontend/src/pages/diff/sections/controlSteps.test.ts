import { expect, test } from "vitest";
import type { DiffReport } from "@/api/schema";
import { stepsChangedByReplay } from "./controlSteps";

test("marks steps that differ without changes", () => {
  const steps = [
    { base: { id: "a" }, without_changes: "same", with_changes: "changed" },
    { base: { id: "b" }, without_changes: "changed", with_changes: "changed" },
    { base: { id: "c" }, without_changes: "removed", with_changes: "same" },
  ];
  const report = { unchanged: { steps } } as unknown as DiffReport;
  expect([...stepsChangedByReplay(report)]).toEqual(["b", "c"]);
  expect(stepsChangedByReplay({ unchanged: null }).size).toBe(0);
});
