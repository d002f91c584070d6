import { describe, expect, it } from "vitest";
import type { ExperimentRowView, ExperimentView } from "@/api/schema";
import { applyMessage, bestMeasure, choose, passShare } from "./measures";

const row = (number: number, more: Partial<ExperimentRowView> = {}) =>
  ({ number, cost_usd: null, tokens_in: null, tokens_out: null, checks: null, ...more }) as ExperimentRowView;
const view = { seq: 4, status: "running", results: [row(1), row(2)], aggregates: [] } as unknown as ExperimentView;

describe("the results of an experiment", () => {
  it("apply messages in order", () => {
    const message = { type: "experiment_row" as const, seq: 5, row: row(2, { ars: 0.5 }) };
    const after = applyMessage(view, message);
    expect(after.results.map(({ ars }) => ars)).toEqual([undefined, 0.5]);
    expect(applyMessage(after, { ...message, row: row(2, { ars: 0.1 }) })).toBe(after);
  });

  it("keep two choices", () => {
    expect(choose([1, 2], 3)).toEqual([2, 3]);
    expect(choose([1, 2], 1)).toEqual([2]);
  });

  it("use tokens where nothing has a price", () => {
    expect(bestMeasure([row(1, { cost_usd: 0 })])).toBe("tokens");
    expect(bestMeasure([row(1, { cost_usd: 0.1 })])).toBe("cost");
  });

  it("have no pass rate without checks", () => {
    expect(passShare(row(1, { checks: [] }))).toBeNull();
    const checks = [true, false].map((result) => ({ name: "", detail: "", passed: result }));
    expect(passShare(row(1, { checks }))).toBe(0.5);
  });
});
