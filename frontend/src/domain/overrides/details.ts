/** An override in words: its scope and its settings. */
import type { JsonValue, Override } from "@/api/schema";
import { describeMatch } from "./wording";

export interface OverrideWords {
  scope: string;
  sets: { name: string; value: string }[];
}

export function describeOverride(override: Override): OverrideWords {
  return { scope: describeMatch(override), sets: [...settings(override)] };
}

function* settings(override: Override): Generator<{ name: string; value: string }> {
  yield* fields(override.prompt, { system: "system prompt" });
  const { parameters = null, unset = null, ...model } = override.model ?? {};
  yield* fields(model, {});
  yield* fields(parameters, {});
  for (const name of unset ?? []) yield { name: name.replaceAll("_", " "), value: "removed" };
  yield* fields(override.retrieval, { top_k: "documents requested" });
  for (const edit of override.messages ?? []) {
    const content = edit.passages
      ? edit.passages.map(({ after }) => after).join(" … ")
      : edit.message
        ? edit.message["content"]
        : edit.content;
    yield { name: `${edit.op} message ${edit.index + 1}`, value: edit.op === "delete" ? "" : valueText(content) };
  }
  if (override.arguments !== null) yield { name: "arguments", value: valueText(override.arguments) };
  if (override.tool) yield { name: `tool result (${override.tool.status})`, value: valueText(override.tool.output) };
  if (override.output !== null) yield { name: "output", value: valueText(override.output) };
}

function* fields(group: object | null, names: Record<string, string>): Generator<{ name: string; value: string }> {
  for (const [name, value] of Object.entries(group ?? {}) as [string, JsonValue][]) {
    if (value !== null) yield { name: names[name] ?? name.replaceAll("_", " "), value: valueText(value) };
  }
}

/** A value as a line: a text as it is, anything else as JSON. */
export function valueText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
