/** Descriptions of JSON value changes and rank changes. */
import type { JsonValue, RankChange } from "@/api/schema";
import { duration } from "@/ui/format/numbers";

/** A JSON pointer in accessor notation: `/items/0/price` becomes `items[0].price`. */
export function readablePath(pointer: string): string {
  if (pointer === "") return "(whole value)";
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => path + accessor(part, path === ""), "");
}

function accessor(part: string, first: boolean): string {
  if (/^\d+$/.test(part)) return `[${part}]`;
  // A label in words needs no quotes at the start of a path.
  if (first && /^[\p{L}\p{N} _-]+$/u.test(part)) return part;
  if (/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(part)) return first ? part : `.${part}`;
  return `[${JSON.stringify(part)}]`;
}

/** A value as text: short values on one line, longer ones indented, strings without quotes. */
export function readableValue(value: JsonValue): string {
  if (typeof value === "string") return value;
  const line = JSON.stringify(value);
  return line.length <= 72 ? line : JSON.stringify(value, null, 2);
}

/** Whether both values read the same although their types differ, so that the type must be shown. */
export function typeMatters(base: JsonValue, candidate: JsonValue): boolean {
  return typeName(base) !== typeName(candidate) && readableValue(base) === readableValue(candidate);
}

export function typeName(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "list" : typeof value;
}

/** The unit that the name of a total states. */
const IN_MS = / in ms$/;

/** The name of a total. A step that no replay made is *recorded*; the stored label is `live`. */
export function scalarName(path: string, kind: string): string {
  const name = readablePath(path).replace(IN_MS, "");
  return kind === "labels" && name === "live" ? "recorded" : name;
}

/** A total in words: with its unit, and – for none. */
export function scalarWords(path: string, value: JsonValue): string {
  if (value === null) return "–";
  if (typeof value !== "number") return readableValue(value);
  return IN_MS.test(readablePath(path)) ? duration(value) : value.toLocaleString("en-US");
}

export interface Movement {
  words: string;
  /** Ranks gained (positive) or lost. */
  places: number;
}

/** The movement of a document between the two rankings. */
export function movement(change: RankChange): Movement {
  switch (change.op) {
    case "added":
      return { words: "new", places: 0 };
    case "removed":
      return { words: "removed", places: 0 };
    case "same":
      return { words: "same rank", places: 0 };
    case "rescored":
      return { words: "same rank, new score", places: 0 };
    case "moved": {
      const places = (change.base_rank ?? 0) - (change.candidate_rank ?? 0);
      return { words: `${places > 0 ? "up" : "down"} ${Math.abs(places)}`, places };
    }
    default:
      return change.op satisfies never;
  }
}

/** Rows in the candidate's order. Removed documents keep their old place. */
export function inRankOrder(changes: readonly RankChange[]): RankChange[] {
  const place = (change: RankChange) => change.candidate_rank ?? (change.base_rank ?? 0) + 0.5;
  return [...changes].sort((a, b) => place(a) - place(b));
}
