// A matrix while it is edited, and the request made of it.
import type { SparseExperiment } from "@/api/replays/experiments";
import type { Engine } from "@/api/schema";
import { checksOf, checksProblem, type CheckDraft } from "@/domain/checks/draft";
import { parseOverrides, type Draft, type SparseOverride } from "@/domain/overrides/draft";
import { parseModelName } from "@/domain/overrides/modelName";

export const RECORDED_VALUE = "as recorded";
type AxisKind = "model" | "temperature" | "prompt" | "overrides";

/** `text` is a model, a number, a system prompt or an override list. Null means "as recorded". */
interface ValueDraft {
  name: string;
  text: string | null;
}
export interface AxisDraft {
  kind: AxisKind;
  values: ValueDraft[];
}
export interface MatrixDraft {
  name: string;
  engine: Engine;
  axes: AxisDraft[];
  checks: CheckDraft[];
  samples: number;
  maxCost: number | null;
  maxCalls: number | null;
}

export const axisTitle: Record<AxisKind, string> = {
  model: "Models",
  temperature: "Temperatures",
  prompt: "System prompts",
  overrides: "Other overrides",
};
const axisName: Record<AxisKind, string> = {
  model: "model",
  temperature: "temperature",
  prompt: "prompt",
  overrides: "variant",
};
export const axisKinds: readonly AxisKind[] = ["model", "temperature", "prompt", "overrides"];

/** The models to start with: the recorded one and others of its provider. */
export function firstDraft(models: readonly string[]): MatrixDraft {
  const values = models.length > 0 ? models.slice(0, 4).map(valueDraft) : [{ name: RECORDED_VALUE, text: null }];
  return {
    name: "",
    engine: "follow",
    axes: [
      { kind: "model", values },
      { kind: "prompt", values: [{ name: RECORDED_VALUE, text: null }] },
    ],
    checks: [],
    samples: 1,
    maxCost: null,
    maxCalls: null,
  };
}

export function valueDraft(text: string): ValueDraft {
  return text === RECORDED_VALUE ? { name: RECORDED_VALUE, text: null } : { name: text, text };
}

/** The axes that have values, as the experiment names them. */
export function draftAxes({ axes }: Pick<MatrixDraft, "axes">): { name: string; values: string[] }[] {
  return axes
    .filter(({ values }) => values.length > 0)
    .map(({ kind, values }) => ({ name: axisName[kind], values: values.map(({ name }) => name) }));
}

/** Number of rows of the matrix. */
export function rowCount(draft: MatrixDraft): number {
  return draft.axes.reduce((rows, axis) => rows * Math.max(1, axis.values.length), draft.samples);
}

/** Why the draft cannot be sent, in one sentence. Null if it can. */
export function draftProblem(draft: MatrixDraft): string | null {
  for (const { kind, values } of draft.axes) {
    for (const { name, text } of values) {
      if (!name.trim()) return `Enter a name for each of the ${axisTitle[kind].toLowerCase()}.`;
      if (kind === "temperature" && text !== null && !isTemperature(text))
        return `“${text}” is not a temperature: use 0 to 2.`;
      if (kind === "overrides" && text !== null) {
        const result = parseOverrides(text);
        if ("error" in result) return `${name}: ${result.error}`;
      }
    }
  }
  return checksProblem(draft.checks);
}

/** The body of a preview or start, without empty checks and axes. */
export function toExperiment(run: string, step: number, base: Draft, draft: MatrixDraft): SparseExperiment {
  const budget = {
    ...(draft.maxCost !== null && { max_cost_usd: draft.maxCost }),
    ...(draft.maxCalls !== null && { max_live_calls: draft.maxCalls }),
  };
  return {
    run,
    fork_step: step,
    engine: draft.engine,
    ...(draft.name.trim() && { name: draft.name.trim() }),
    overrides: { overrides: base.overrides },
    // Samples that reuse a recorded answer would all be equal.
    policy: { ...base.policy, order: "reexecute" },
    axes: draft.axes
      .filter(({ values }) => values.length > 0)
      .map(({ kind, values }) => ({
        name: axisName[kind],
        values: values.map(({ name, text }) => ({ name: name.trim(), overrides: overridesOf(kind, text) })),
      })),
    samples: draft.samples,
    checks: checksOf(draft.checks),
    budget,
  };
}

function overridesOf(kind: AxisKind, text: string | null): SparseOverride[] {
  if (text === null) return [];
  const match = { type: "model" as const };
  switch (kind) {
    case "model": {
      const { provider, model } = parseModelName(text);
      return [{ match, model: { ...(provider && { provider }), model } }];
    }
    case "temperature":
      return [{ match, model: { temperature: Number(text) } }];
    case "prompt":
      return [{ match, prompt: { system: text } }];
    case "overrides": {
      const result = parseOverrides(text);
      return "overrides" in result ? result.overrides : [];
    }
  }
}

function isTemperature(text: string): boolean {
  const value = Number(text);
  return text.trim() !== "" && value >= 0 && value <= 2;
}
