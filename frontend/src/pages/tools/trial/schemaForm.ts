// A form for a tool's arguments, derived from its JSON schema.
import type { JsonValue } from "@/api/schema";
import { isObject } from "@/ui/format/json";

export interface Field {
  name: string;
  kind: "text" | "number" | "integer" | "boolean" | "choice" | "json";
  /** The options of a choice. */
  options: string[];
  isRequired: boolean;
  description: string;
}

export type Arguments = Record<string, JsonValue>;

/** One field per property. Null if the schema has no properties. */
export function fieldsOf(schema: JsonValue): Field[] | null {
  if (!isObject(schema) || !isObject(schema["properties"])) return null;
  const requiredNames = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(schema["properties"]).map(([name, property]) => ({
    name,
    ...kindOf(property),
    isRequired: requiredNames.includes(name),
    description: isObject(property) && typeof property["description"] === "string" ? property["description"] : "",
  }));
}

function kindOf(property: JsonValue): Pick<Field, "kind" | "options"> {
  if (!isObject(property)) return { kind: "json", options: [] };
  const values = property["enum"];
  if (Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === "string"))
    return { kind: "choice", options: values };
  switch (property["type"]) {
    case "string":
      return { kind: "text", options: [] };
    case "number":
    case "integer":
    case "boolean":
      return { kind: property["type"], options: [] };
    default:
      return { kind: "json", options: [] };
  }
}

/** Set or remove an argument. */
export function withArgument(values: Arguments, name: string, value: JsonValue | undefined): Arguments {
  const { [name]: _, ...rest } = values;
  return value === undefined ? rest : { ...rest, [name]: value };
}

/** Required fields without a value. */
export function missingFields(fields: readonly Field[], values: Arguments): string[] {
  return fields.filter(({ name, isRequired }) => isRequired && !(name in values)).map(({ name }) => name);
}

/** Parse a JSON field: its value, undefined if empty, or the error. */
export function readJson(text: string): { value: JsonValue | undefined } | { error: string } {
  if (text.trim() === "") return { value: undefined };
  try {
    return { value: JSON.parse(text) as JsonValue };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
