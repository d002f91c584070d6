/** What an edit changed in a value with named parts: the fields of an object, or documents by their ids. */
import type { JsonValue } from "@/api/schema";
import { isObject } from "@/ui/format/json";
import { valueText } from "./details";

export interface FieldChange {
  name: string;
  before: string;
  after: string;
}

/** The changed parts; null if a value has no named parts, or none of them differs. */
export function fieldChanges(before: JsonValue, after: JsonValue): FieldChange[] | null {
  const [old, next] = [parts(before), parts(after)];
  if (!old || !next) return null;
  const changes = [...new Set([...old.keys(), ...next.keys()])]
    .map((name) => ({ name, before: old.get(name) ?? "", after: next.get(name) ?? "" }))
    .filter((change) => change.before !== change.after);
  return changes.length > 0 ? changes : null;
}

function parts(value: JsonValue): Map<string, string> | null {
  if (isObject(value)) return new Map(Object.entries(value).map(([name, field]) => [name, valueText(field)]));
  return Array.isArray(value) ? documentTexts(value) : null;
}

/** Null unless each item has text and an id of its own. */
function documentTexts(items: readonly JsonValue[]): Map<string, string> | null {
  const texts = new Map<string, string>();
  for (const item of items) {
    const { id, content } = isObject(item) ? item : {};
    if (typeof id !== "string" || content === undefined || texts.has(id)) return null;
    texts.set(id, valueText(content));
  }
  return texts;
}
