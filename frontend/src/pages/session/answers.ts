/** Parsing of a tool result that the operator typed. */
import type { JsonValue } from "@/api/schema";

/** Parse JSON, or return other text as it is. Text that is clearly broken JSON is rejected with the reason. */
export function readAnswer(text: string): { value: JsonValue } | { error: string } {
  try {
    return { value: JSON.parse(text) as JsonValue };
  } catch (error) {
    if (/^\s*[[{]/.test(text))
      return { error: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
    return { value: text };
  }
}

/** The text of an output step: the output itself, or its `text`. Null for anything else. */
export function answerText(output: JsonValue): string | null {
  if (typeof output === "string") return output;
  if (typeof output !== "object" || output === null || Array.isArray(output)) return null;
  const { text } = output;
  return typeof text === "string" ? text : null;
}
