// Tools often return JSON as one line of text. It is edited indented and restored to its original style.
import type { JsonValue } from "@/api/schema";

type Style = "spaced" | "compact";

/** JSON in the style of Python's json.dumps: a space after each comma and colon. */
function spacedJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value)
      .map(([name, item]) => `${JSON.stringify(name)}: ${spacedJson(item)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value);
}

function write(value: JsonValue, style: Style): string {
  return style === "compact" ? JSON.stringify(value) : spacedJson(value);
}

/** The style that reproduces this text exactly. Null if none does, so that the text is edited verbatim. */
export function styleOf(text: string): Style | null {
  if (!/^\s*[[{]/.test(text)) return null;
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
  return (["compact", "spaced"] as const).find((style) => write(value, style) === text) ?? null;
}

export function indentJson(text: string): string {
  return JSON.stringify(JSON.parse(text), null, 2);
}

export function restoreStyle(text: string, style: Style): string {
  return write(JSON.parse(text) as JsonValue, style);
}
