// The figures of a combination that a heat map can show. Pure.
import type { CellView } from "@/api/schema";
import { score } from "@/domain/diffs/score";
import { duration, money, pluralize, tokens } from "@/ui/format/numbers";

export type HeatMeasure = "pass" | "cost" | "latency" | "tokens" | "similarity";

export const measureTitle: Record<HeatMeasure, string> = {
  pass: "Pass rate",
  cost: "Cost",
  latency: "Latency",
  tokens: "Tokens",
  similarity: "Similarity",
};

const SPREADS = {
  cost: { field: "cost_usd", format: money },
  latency: { field: "latency_ms", format: duration },
  tokens: { field: "tokens", format: (value: number) => tokens(Math.round(value)) },
  similarity: { field: "output_similarity", format: score },
} as const;

/** What a cell shows: its value, and the interval around it, as text and as shares of the scale. */
export interface HeatFigure {
  text: string;
  interval: string;
  /** From 0 to 1 on the scale of the whole map. Null without a value. */
  position: { value: number; low: number; high: number } | null;
}

export interface Scale {
  low: number;
  high: number;
}

/** The ends of the scale: 0 to 1 for shares, the extremes of all replays for the others. */
export function scaleOf(cells: readonly CellView[], measure: HeatMeasure): Scale | null {
  if (measure === "pass" || measure === "similarity") return { low: 0, high: 1 };
  const spreads = cells.flatMap((cell) => cell[SPREADS[measure].field] ?? []);
  if (spreads.length === 0) return null;
  return { low: Math.min(...spreads.map(({ min }) => min)), high: Math.max(...spreads.map(({ max }) => max)) };
}

export function scaleText(measure: HeatMeasure, scale: Scale): [string, string] {
  if (measure === "pass") return ["0 %", "100 %"];
  const { format } = SPREADS[measure];
  return [format(scale.low), format(scale.high)];
}

export function figureOf(cell: CellView, measure: HeatMeasure, scale: Scale | null): HeatFigure {
  if (measure === "pass") return passFigure(cell);
  const { field, format } = SPREADS[measure];
  const spread = cell[field];
  if (!spread || !scale) return { text: stateWords(cell, "unknown"), interval: "", position: null };
  const size = scale.high - scale.low;
  const share = (value: number) => (size > 0 ? (value - scale.low) / size : 0);
  const [low, high] = [format(spread.min), format(spread.max)];
  return {
    text: format(spread.mean),
    interval: low === high ? "" : `${low} to ${high}`,
    position: { value: share(spread.mean), low: share(spread.min), high: share(spread.max) },
  };
}

function passFigure(cell: CellView): HeatFigure {
  if (cell.pass_rate === null || cell.pass_interval === null) {
    const missing = cell.unverified > 0 ? "unverified" : "no checks";
    return { text: stateWords(cell, missing), interval: "", position: null };
  }
  const { low, high } = cell.pass_interval;
  return {
    text: percent(cell.pass_rate),
    interval: intervalText(cell),
    position: { value: cell.pass_rate, low, high },
  };
}

/** "84–100 %", empty without a rate. */
export function intervalText({ pass_interval: interval }: Pick<CellView, "pass_interval">): string {
  return interval ? `${Math.round(interval.low * 100)}–${Math.round(interval.high * 100)} %` : "";
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Why a cell has no value. */
function stateWords(cell: CellView, missing: string): string {
  if (cell.finished > 0) return missing;
  return cell.failed > 0 ? "failed" : "no result yet";
}

/** What qualifies the rate of a cell: replays that are missing in it or count as not passed. */
export function remarks(cell: CellView): string[] {
  const openCount = cell.rows - cell.finished - cell.failed;
  return [
    ...(openCount > 0 ? [`${openCount} of ${cell.rows} not finished`] : []),
    ...(cell.unverified > 0 ? [`${cell.unverified} unverified`] : []),
    ...(cell.failed > 0 ? [`${pluralize(cell.failed, "replay")} failed`] : []),
  ];
}
