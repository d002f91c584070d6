import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { BisectPlan } from "@/api/schema";
import { renderInApp } from "@/testing/render";
import { BisectPlanSummary } from "./BisectPlanSummary";

const PLAN: BisectPlan = {
  run: null,
  forks: [],
  unintercepted_tools: [],
  recorded: [],
  probes: 4,
  most_probes: 13,
  agent_starts: 0,
  most_agent_starts: 0,
  live_calls: 24,
  most_live_calls: 28,
  cost_usd: 0.5,
  most_cost_usd: 0.75,
  warnings: [],
  refusals: [],
};

test.each([
  [null, null, "unknown"],
  [0.5, null, "about $0.50, maximum unknown"],
  [0.5, 0.75, "about $0.50, max. $0.75"],
  [0, 0, "up to $0.00"],
])("a price of %s to %s reads: %s", (cost, most, words) => {
  renderInApp(<BisectPlanSummary plan={{ ...PLAN, cost_usd: cost, most_cost_usd: most }} />);
  expect(screen.getByText(words)).toBeTruthy();
});
