import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { proofPlanQuery } from "@/api/diffs/proofs";
import { runnersQuery } from "@/api/replays/runners";
import type { CheapestExperiment, DiffReport, Findings } from "@/api/schema";
import { renderInApp } from "@/testing/render";
import { ReportContext } from "../reportContext";
import { CheapestExperimentPanel } from "./CheapestExperimentPanel";
import { toDecidingProof } from "./draft";

const REPORT = { id: "d1", base: { app: "desk" } } as DiffReport;
const CHEAPEST = { text: "Repeat it.", replays: 3, live_calls: 2, cost_usd: 0 } as CheapestExperiment;
const findings = (agentRan: boolean) =>
  ({ agent_ran: agentRan, question: { kind: "answer", checks: [] } }) as unknown as Findings;

function render({ agentRan, consent }: { agentRan: boolean; consent: "runner" | null }) {
  const request = toDecidingProof(findings(agentRan), CHEAPEST);
  const refusals =
    consent === null ? [{ code: "consent_required", detail: "nothing intercepts refund", where: "" }] : [];
  const plan = { unintercepted_tools: [{ name: "refund", consent }], refusals };
  return renderInApp(
    <ReportContext value={{ report: REPORT, hasLinks: true }}>
      <CheapestExperimentPanel findings={findings(agentRan)} cheapest={CHEAPEST} />
    </ReportContext>,
    [
      [proofPlanQuery("d1", request).queryKey, plan],
      [runnersQuery("desk").queryKey, { runners: [{ state: "online" }] }],
    ],
  );
}

const button = () => screen.getByRole("button", { name: "Run it" });

test("a proof whose agent ran shows which tools really run in the next one", () => {
  render({ agentRan: true, consent: "runner" });
  expect(screen.getByLabelText("Tools that really run").textContent).toContain("allowed by the user of the runner");
  expect(button()).toHaveProperty("disabled", false);
});

test("no agent starts whose tools nobody allowed", () => {
  render({ agentRan: true, consent: null });
  expect(screen.getByText(/--allow-tool refund/)).not.toBeNull();
  expect([button().hasAttribute("disabled"), button().title]).toEqual([true, "nothing intercepts refund"]);
});

test("a proof that follows the recordings needs no consent", () => {
  render({ agentRan: false, consent: null });
  expect(screen.queryByLabelText("Tools that really run")).toBeNull();
  expect(button()).toHaveProperty("disabled", false);
});
