import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { proofsQuery } from "@/api/diffs/proofs";
import type { DiffReport } from "@/api/schema";
import { renderInApp } from "@/testing/render";
import { ReportContext } from "../reportContext";
import { Verdict } from "./Verdict";

function render(verdict: string) {
  const report = {
    id: "d1",
    base: { app: "desk" },
    attribution: { verdict, confidence: null, sentence: "", evidence: [] },
    summary: "Nothing differs.",
    brief: null,
    evidence: [],
    final_answers: { base: "Yes.", candidate: "Yes." },
    scores: { tools: { total_original: 0 }, output_similarity: 1, similarity_method: "identical" },
    deltas: { tokens: 0, cost_usd: 0, duration_ms: 0 },
  } as unknown as DiffReport;
  return renderInApp(
    <ReportContext value={{ report, hasLinks: true }}>
      <Verdict />
    </ReportContext>,
    [[proofsQuery("d1").queryKey, { proofs: [] }]],
  );
}

test.each([
  ["no_difference", 0],
  ["no_effect", 1],
])("runs with %s offer %i proofs", (verdict, offers) => {
  render(verdict);
  expect(screen.queryAllByRole("button", { name: /Prove it/ })).toHaveLength(offers);
});
