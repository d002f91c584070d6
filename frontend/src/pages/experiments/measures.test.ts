import { describe, expect, it } from "vitest";
import type { ExperimentRowView, ExperimentView } from "@/api/schema";
import { applyMessage, cellName, choose, experimentTitle, passShare } from "./measures";

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

  it("are named by what distinguishes them", () => {
    const settings = (model: string, prompt: string) => ({
      settings: [
        { axis: "model", value: model },
        { axis: "prompt", value: prompt },
      ],
    });
    const [first, second, third] = [
      settings("small", "as recorded"),
      settings("small", "units"),
      settings("large", "units"),
    ];
    expect(cellName([first, second, third])(second)).toBe("units on small");
    expect(cellName([first, second])(first)).toBe("as recorded");
    expect(cellName([second, third])(third)).toBe("large");
    expect(cellName([first])(first)).toBe("as recorded on small");
    expect(cellName([])({ settings: [] })).toBe("as recorded");
    expect(cellName([])({ settings: [{ axis: "temperature", value: "0.5" }] })).toBe("temperature 0.5");
  });

  it("have the title of a user, else that of their axes", () => {
    const axes = [
      { name: "model", values: [{ name: "a" }, { name: "b" }] },
      { name: "prompt", values: [{ name: "x" }, { name: "y" }] },
      { name: "temperature", values: [{ name: "0" }] },
    ];
    const title = (name: string) => experimentTitle({ name: "the run", request: { name, axes } as never });
    expect(title("")).toBe("Prompt × model");
    expect(title("Units")).toBe("Units");
  });

  it("have no pass rate without checks", () => {
    expect(passShare(row(1, { checks: [] }))).toBeNull();
    const checks = [true, false].map((result) => ({ name: "", detail: "", passed: result }));
    expect(passShare(row(1, { checks }))).toBe(0.5);
    expect(passShare(row(1, { checks, unverified: "a placeholder" }))).toBeNull();
  });
});
