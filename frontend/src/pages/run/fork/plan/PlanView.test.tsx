import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { emptyDraft, type Draft } from "@/domain/overrides/draft";
import { renderInApp } from "@/testing/render";
import type { Fork } from "../useFork";
import { PlanView } from "./PlanView";

const plan = {
  engine: "follow",
  actions: { reuse: 5, simulate: 1 },
  counts: { live: 0, exact: 5, cached: 0, simulated: 1 },
  steps: [
    { sequence_no: 2, action: "simulate", reason: "simulation_policy_fallback", differs: [], because: [], typed: [] },
    // Its input follows from a model call that is made again.
    { sequence_no: 4, action: "simulate", reason: "simulation_policy_fallback", differs: [], because: [3], typed: [] },
  ],
  warnings: [],
  live_calls: 0,
  assumed: 0,
};

const show = (draft: Draft) =>
  renderInApp(<PlanView fork={{ plan, draft } as unknown as Fork} orphans={[]} onSelect={() => undefined} />);

test("a plan without changes states why a step is simulated", () => {
  const { container } = show(emptyDraft);
  expect(container.textContent).toMatch(/Even without changes, it gets a placeholder: step 2$/);
});

test("a plan with changes has this reason in its lines only", () => {
  show({ ...emptyDraft, overrides: [{ match: {}, model: { model: "m2" } }] });
  expect(screen.queryByText(/without changes/)).toBeNull();
});
