import { describe, expect, it } from "vitest";
import type { CellView } from "@/api/schema";
import { standing, standingWords } from "./standing";

const spread = (mean: number) => ({ mean, min: mean, max: mean });
const cell = (number: number, passes: number, verdicts: number, more: Partial<CellView> = {}) =>
  ({
    cell: number,
    settings: [{ axis: "model", value: `m${number}` }],
    passed: passes,
    verdicts,
    unverified: 0,
    pass_rate: verdicts ? passes / verdicts : null,
    pass_interval: verdicts
      ? { low: Math.max(0, passes / verdicts - 0.2), high: Math.min(1, passes / verdicts + 0.2) }
      : null,
    cost_usd: null,
    tokens: null,
    ...more,
  }) as CellView;
const words = (cells: CellView[], hasChecks = true) =>
  standingWords(standing(cells, hasChecks), ({ settings }) => settings[0]?.value ?? "", cells.length);

describe("the best combination", () => {
  it("has the highest rate", () => {
    expect(words([cell(1, 1, 10), cell(2, 9, 10)])).toEqual({
      claim: "m2 passes 9 of 10.",
      remark: "No other interval reaches its own.",
    });
    expect(words([cell(1, 8, 10), cell(2, 9, 10)]).remark).toContain("the interval of one other overlaps");
  });

  it("is the cheapest of equal ones", () => {
    const cells = [cell(1, 20, 20, { cost_usd: spread(0.004) }), cell(2, 20, 20, { cost_usd: spread(0.0002) })];
    expect(standing(cells, true)).toMatchObject({ kind: "best", cell: cells[1], equals: 1 });
    expect(words(cells).remark).toBe("None is better, and every equal one costs at least 20 times as much.");
    const freeCells = [cell(1, 5, 5, { cost_usd: spread(0) }), cell(2, 5, 5, { cost_usd: spread(0.1) })];
    expect(words(freeCells).remark).toBe("None is better, and every equal one costs more.");
  });

  it("uses the fewest tokens where costs are equal", () => {
    const cells = [1, 2, 3].map((number) => cell(number, 5, 5, { cost_usd: spread(0), tokens: spread(100 * number) }));
    expect(words(cells)).toEqual({
      claim: "m1 passes 5 of 5.",
      remark: "None is better, and the 2 others with this rate use more tokens.",
    });
  });

  it("does not exist among equal ones that cost the same", () => {
    const cells = [1, 2, 3].map((number) => cell(number, number > 1 ? 1 : 0, 1, { cost_usd: spread(0) }));
    expect(words(cells)).toEqual({
      claim: "2 of 3 combinations pass 1 of 1, at the same cost.",
      remark: "So few samples show little: add samples before you rely on it.",
    });
    expect(words([cell(1, 4, 4), cell(2, 4, 4)]).claim).toBe("Both combinations pass 4 of 4, at an unknown cost.");
  });

  it("is not claimed without a verified check", () => {
    expect(words([cell(1, 0, 0, { unverified: 4 })]).claim).toBe("No check could be verified.");
    expect(words([cell(1, 0, 0)]).remark).toBe("No result yet.");
    expect(words([cell(1, 0, 4), cell(2, 0, 4)]).remark).toBe("None of 8 replays passed the checks.");
    expect(words([cell(1, 0, 0)], false).claim).toBe("");
  });
});
