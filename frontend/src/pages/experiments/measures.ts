/** An experiment as its socket messages change it, and its figures. Pure. */
import type { LiveMessage } from "@/api/live";
import type { ExperimentRowView, ExperimentView, Setting } from "@/api/schema";

/** Puts one message into the view; one that is in it already changes nothing. */
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
  // Before its first call a row has cost nothing, which says nothing.
  if (measure === "cost") return row.live_calls === 0 && !row.status.startsWith("completed") ? null : row.cost_usd;
  return measure === "latency" ? row.latency_ms : tokensOf(row);
}

/** Cost where it tells rows apart; a local model costs the same nothing everywhere. */
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

/** The share of checks that passed; null before there is anything to say. */
export function passShare(row: ExperimentRowView): number | null {
  if (!row.checks || row.checks.length === 0) return null;
  return row.checks.filter(({ passed }) => passed).length / row.checks.length;
}

/** The two latest choices; choosing again takes a choice back. */
export function choose(selection: readonly number[], row: number): number[] {
  return selection.includes(row) ? selection.filter((item) => item !== row) : [...selection, row].slice(-2);
}
