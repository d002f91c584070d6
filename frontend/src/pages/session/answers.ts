/** What an operator typed as a tool's answer. */
import type { JsonValue } from "@/api/schema";

/** JSON where it is JSON, else the text as it is. Broken JSON that was surely meant as such is refused, with the reason. */
export function readAnswer(text: string): { value: JsonValue } | { error: string } {
  try {
    return { value: JSON.parse(text) as JsonValue };
  } catch (error) {
    if (/^\s*[[{]/.test(text))
      return { error: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
    return { value: text };
  }
}

/** The text of an output step: the output itself, or its `text`. Null where it is something else. */
export function answerText(output: JsonValue): string | null {
  if (typeof output === "string") return output;
  if (typeof output !== "object" || output === null || Array.isArray(output)) return null;
  const { text } = output;
  return typeof text === "string" ? text : null;
}
