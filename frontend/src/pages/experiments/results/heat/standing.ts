// Which combination is best, and how far the samples support that. Pure.
import type { CellView } from "@/api/schema";

type RatedCell = CellView & { pass_rate: number; pass_interval: { low: number; high: number } };

export type Standing =
  | { kind: "no checks" }
  | { kind: "pending" }
  | { kind: "unverified" }
  | { kind: "no pass"; verdicts: number }
  | { kind: "tie"; cells: readonly RatedCell[]; isCostKnown: boolean }
  | {
      kind: "best";
      cell: RatedCell;
      /** Combinations with the same rate that cost more. */
      equals: number;
      /** What sets it apart from these: its cost, or its tokens where the costs are equal or not known. */
      advantage: "cost" | "tokens";
      /** The cost of the cheapest of these, in multiples; null if that says nothing. */
      costRatio: number | null;
      /** Combinations with a lower rate that may be as good: their interval reaches the best rate's. */
      overlaps: number;
    };

/** The best combination: the highest pass rate, and among equal ones the lowest cost, then the fewest tokens. */
export function standing(cells: readonly CellView[], hasChecks: boolean): Standing {
  if (!hasChecks) return { kind: "no checks" };
  const ratedCells = cells.filter(isRated);
  if (ratedCells.length === 0)
    return cells.some(({ unverified }) => unverified > 0) ? { kind: "unverified" } : { kind: "pending" };
  const topRate = Math.max(...ratedCells.map(({ pass_rate }) => pass_rate));
  if (topRate === 0) return { kind: "no pass", verdicts: ratedCells.reduce((sum, { verdicts }) => sum + verdicts, 0) };
  // Of equal rates, the one with more samples is better supported.
  const candidates = ratedCells.filter(({ pass_rate }) => pass_rate === topRate);
  const topLow = Math.max(...candidates.map(({ pass_interval }) => pass_interval.low));
  const leaders = candidates.filter(({ pass_interval }) => pass_interval.low === topLow);
  const compareCosts = (a: CellView, b: CellView) => (costOf(a) === costOf(b) ? 0 : costOf(a) - costOf(b));
  const [cell, runnerUp] = leaders.toSorted((a, b) => compareCosts(a, b) || tokensOf(a) - tokensOf(b));
  if (!cell) return { kind: "pending" };
  const isCheaper = runnerUp !== undefined && costOf(cell) < costOf(runnerUp);
  if (runnerUp && !isCheaper && !(tokensOf(cell) < tokensOf(runnerUp)))
    return { kind: "tie", cells: leaders, isCostKnown: leaders.every(({ cost_usd }) => cost_usd !== null) };
  const overlaps = ratedCells.filter((rival) => !leaders.includes(rival) && rival.pass_interval.high >= topLow).length;
  const costRatio = isCheaper && costOf(cell) > 0 ? costOf(runnerUp) / costOf(cell) : null;
  return {
    kind: "best",
    cell,
    equals: leaders.length - 1,
    advantage: isCheaper ? "cost" : "tokens",
    costRatio: costRatio !== null && Number.isFinite(costRatio) ? costRatio : null,
    overlaps,
  };
}

/** The sentence above the heat map: what holds, and what qualifies it. */
export function standingWords(
  result: Standing,
  nameOf: (cell: CellView) => string,
  cellCount: number,
): { claim: string; remark: string } {
  switch (result.kind) {
    case "no checks":
      return { claim: "", remark: "This experiment has no checks, so no combination is the best one." };
    case "pending":
      return { claim: "", remark: "No result yet." };
    case "unverified":
      return {
        claim: "No check could be verified.",
        remark: "No replay has an answer of its own: placeholders stand for answers that nothing provided.",
      };
    case "no pass":
      return { claim: "No combination passes.", remark: `None of ${result.verdicts} replays passed the checks.` };
    case "tie": {
      const [{ passed, verdicts } = { passed: 0, verdicts: 0 }] = result.cells;
      const count = result.cells.length;
      const all = cellCount === 2 ? "Both" : `All ${cellCount}`;
      const subject = count === cellCount ? all : `${count} of ${cellCount}`;
      const reason = result.isCostKnown ? "at the same cost" : "at an unknown cost";
      return {
        claim: `${subject} combinations pass ${passed} of ${verdicts}, ${reason}.`,
        remark: sampleWords(verdicts),
      };
    }
    case "best":
      return {
        claim: `${nameOf(result.cell)} passes ${result.cell.passed} of ${result.cell.verdicts}.`,
        remark: qualification(result),
      };
  }
}

function qualification({ cell, equals, advantage, costRatio, overlaps }: Extract<Standing, { kind: "best" }>): string {
  const many = overlaps === 1 ? "one other" : `${overlaps} others`;
  const doubt =
    sampleWords(cell.verdicts) ||
    (overlaps > 0 ? `More samples may change that: the interval of ${many} overlaps.` : "");
  if (equals === 0) return doubt || "No other interval reaches its own.";
  if (advantage === "tokens") {
    const subject = equals === 1 ? "the other one with this rate uses" : `the ${equals} others with this rate use`;
    return [`None is better, and ${subject} more tokens.`, doubt].filter(Boolean).join(" ");
  }
  const price = costRatio === null ? "more" : `at least ${ratioWords(costRatio)} as much`;
  return [`None is better, and every equal one costs ${price}.`, doubt].filter(Boolean).join(" ");
}

function ratioWords(ratio: number): string {
  // Rounded down, as the sentence says "at least".
  const safeRatio = ratio * (1 + 1e-9);
  return `${safeRatio >= 10 ? Math.floor(safeRatio) : Math.floor(safeRatio * 10) / 10} times`;
}

function sampleWords(verdicts: number): string {
  return verdicts < 3 ? "So few samples show little: add samples before you rely on it." : "";
}

function isRated(cell: CellView): cell is RatedCell {
  return cell.pass_rate !== null && cell.pass_interval !== null;
}

function tokensOf({ tokens }: CellView): number {
  return tokens?.mean ?? Infinity;
}

function costOf({ cost_usd }: CellView): number {
  return cost_usd?.mean ?? Infinity;
}
