import type { JsonValue } from "@/api/schema";

/** Entries of a list or object to render at first. */
export const PAGE = 100;

export function isBranch(value: JsonValue): value is JsonValue[] | Record<string, JsonValue> {
  return typeof value === "object" && value !== null;
}

export function isObject(value: JsonValue | undefined): value is Record<string, JsonValue> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function entriesOf(value: JsonValue): [string, JsonValue][] {
  if (Array.isArray(value)) return value.map((item, index) => [String(index), item]);
  return isBranch(value) ? Object.entries(value) : [];
}

/** A value on one short line: `{ order_id: "A-1", total: 42 }`, `[3 entries]`. */
export function preview(value: JsonValue, room = 60): string {
  if (Array.isArray(value)) return value.length === 0 ? "[]" : `[${value.length}]`;
  if (!isBranch(value)) return ellipsize(JSON.stringify(value), room);
  const names = Object.keys(value);
  if (names.length === 0) return "{}";
  const parts = names.map((name) => {
    const item = value[name] ?? null;
    return `${name}: ${isBranch(item) ? (Array.isArray(item) ? "[…]" : "{…}") : ellipsize(JSON.stringify(item), 24)}`;
  });
  return ellipsize(`{ ${parts.join(", ")} }`, room);
}

export function ellipsize(text: string, room: number): string {
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}

/** The JSON object or list that a text contains, if any: tools often return JSON as text. */
export function jsonInText(text: string): JsonValue | undefined {
  const json = text.trim();
  if (!/^[[{]/.test(json) || json.length > 200_000) return undefined;
  try {
    return JSON.parse(json) as JsonValue;
  } catch {
    return undefined;
  }
}

// Not those of ASCII, and not those of characters that are invisible or reverse the direction of the line.
const READABLE_ESCAPE = /\\\\|\\u(?!00[0-9]|20(?:0[b-f]|2[89a-e]|6)|feff)([0-9a-f]{4})/gi;

/** The JSON of one line with letters instead of their escapes, which Python writes for all but ASCII. */
export function readableJson(line: string): string {
  if (!/^\s*[[{"]/.test(line)) return line;
  return line.replace(READABLE_ESCAPE, (escape, code?: string) =>
    code === undefined ? escape : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
