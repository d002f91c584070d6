import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { ProofPlan } from "@/api/schema";
import { renderInApp } from "@/testing/render";
import { PlanRemarks } from "./PlanSummary";

const plan = { refusals: [], differs: true, live_calls: 0, warnings: [], missing: [] as string[] };
const steps = [7, 8, 9, 10].map((step) => `step ${step} needs a new answer`);
const show = (missing: string[]) =>
  renderInApp(<PlanRemarks plan={{ ...plan, missing } as unknown as ProofPlan} allowedCalls={0} />);

test("a provider that every step lacks is one line, and the steps are folded", () => {
  show(["no provider is configured for m1", ...steps]);
  expect(screen.getByText("No provider is configured for m1.")).toBeTruthy();
  expect(screen.getByText("4 more reasons")).toBeTruthy();
  expect(screen.queryByText(/^Step 7/)).toBeNull();
});

test("a few reasons are all visible", () => {
  show(steps.slice(0, 2));
  expect(screen.getAllByText(/needs a new answer/)).toHaveLength(2);
});
