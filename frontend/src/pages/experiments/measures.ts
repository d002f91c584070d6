/** An experiment updated by its socket messages, and its figures. Pure. */
import type { LiveMessage } from "@/api/live";
import type { ExperimentRowView, ExperimentView, Setting } from "@/api/schema";

/** Apply a message to the view. Messages that it already contains change nothing. */
export function applyMessage(view: ExperimentView, message: LiveMessage): ExperimentView {
  if (message.seq <= view.seq) return view;
  if (message.type === "experiment_row") {
    const results = view.results.map((row) => (row.number === message.row.number ? message.row : row));
    return { ...view, seq: message.seq, results };
  }
  if (message.type !== "experiment") return view;
  return { ...view, ...message.experiment, aggregates: message.aggregates, seq: message.seq };
}

export type Measure = "cost" | "tokens" | "latency";
export const measureTitle: Record<Measure, string> = { cost: "Cost", tokens: "Tokens", latency: "Latency" };

export function measureOf(row: ExperimentRowView, measure: Measure): number | null {
  // A row without calls has no cost yet, rather than a cost of 0.
  if (measure === "cost") return row.live_calls === 0 && !row.status.startsWith("completed") ? null : row.cost_usd;
  return measure === "latency" ? row.latency_ms : tokensOf(row);
}

/** Cost if it distinguishes the rows, else tokens: a local model always costs the same. */
export function bestMeasure(rows: readonly ExperimentRowView[]): Measure {
  return rows.some((row) => (row.cost_usd ?? 0) > 0) ? "cost" : "tokens";
}

export function tokensOf(row: ExperimentRowView): number | null {
  if (row.tokens_in === null && row.tokens_out === null) return null;
  return (row.tokens_in ?? 0) + (row.tokens_out ?? 0);
}

export function cellName(settings: readonly Setting[]): string {
  return settings.map(({ value }) => value).join(" · ") || "as recorded";
}

/** The share of checks that passed. Null if there are none. */
export function passShare(row: ExperimentRowView): number | null {
  if (!row.checks || row.checks.length === 0) return null;
  return row.checks.filter(({ passed }) => passed).length / row.checks.length;
}

/** The two latest choices. Choosing a row again removes it. */
export function choose(selection: readonly number[], row: number): number[] {
  return selection.includes(row) ? selection.filter((item) => item !== row) : [...selection, row].slice(-2);
}
