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

/** What a row cost. A row without calls has no cost yet, rather than a cost of 0. */
export function costOf(row: ExperimentRowView): number | null {
  return row.live_calls === 0 && !row.status.startsWith("completed") ? null : row.cost_usd;
}

export function tokensOf(row: ExperimentRowView): number | null {
  if (row.tokens_in === null && row.tokens_out === null) return null;
  return (row.tokens_in ?? 0) + (row.tokens_out ?? 0);
}

interface Combination {
  settings: readonly Setting[];
}

/** The name of a combination among others: the values that distinguish it, with the model last. */
export function cellName(cells: readonly Combination[]): (cell: Combination) => string {
  const names = new Set(
    cells[0]?.settings.map(({ axis }) => axis).filter((axis) => new Set(cells.map(valueOn(axis))).size > 1),
  );
  return ({ settings }) => {
    const varyingSettings = settings.filter(({ axis }) => names.size === 0 || names.has(axis));
    const model = varyingSettings.find(({ axis }) => axis === "model")?.value;
    const otherValues = varyingSettings.filter(({ axis }) => axis !== "model").map(valueName);
    if (otherValues.length === 0) return model ?? "as recorded";
    return model === undefined ? otherValues.join(", ") : `${otherValues.join(", ")} on ${model}`;
  };
}

/** A number alone says nothing. */
function valueName({ axis, value }: Setting): string {
  return /^[\d.]+$/.test(value) ? `${axis} ${value}` : value;
}

function valueOn(axis: string): (cell: Combination) => string | undefined {
  return ({ settings }) => settings.find((setting) => setting.axis === axis)?.value;
}

/** The name that a user gave, else what the experiment varies: "Prompt × model", "Experiment by prompt". */
export function experimentTitle({ request, name }: Pick<ExperimentView, "request" | "name">): string {
  const axes = request.axes.filter(({ values }) => values.length > 1).map((axis) => axis.name);
  const title = axes.toSorted((a, b) => Number(a === "model") - Number(b === "model")).join(" × ");
  if (request.name || !title) return request.name || name;
  return axes.length === 1 ? `Experiment by ${title}` : title.charAt(0).toUpperCase() + title.slice(1);
}

/** The share of checks that passed. Null if there are none, or if they prove nothing. */
export function passShare(row: ExperimentRowView): number | null {
  if (!row.checks || row.checks.length === 0 || row.unverified) return null;
  return row.checks.filter(({ passed }) => passed).length / row.checks.length;
}

/** The two latest choices. Choosing a row again removes it. */
export function choose(selection: readonly number[], row: number): number[] {
  return selection.includes(row) ? selection.filter((item) => item !== row) : [...selection, row].slice(-2);
}
