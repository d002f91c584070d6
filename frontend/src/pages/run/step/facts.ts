// What a label rests on, as the server records it with the step, in words.
import type { JsonValue } from "@/api/schema";
import { isBranch, preview } from "@/components/json";
import { reasonInWords } from "@/components/labels";

const names: Record<string, string> = {
  why: "why not exact",
  differs: "what differs",
  signature: "signature version",
  ignored: "left out of the signature",
};

export function factName(name: string): string {
  return names[name] ?? name.replaceAll("_", " ");
}

/** Lists of plain values in full, a known code as its sentence, everything else in short. */
export function factWords(value: JsonValue): string {
  if (Array.isArray(value) && value.length > 0 && !value.some(isBranch)) return value.map(String).join(", ");
  if (typeof value === "string") return /^[a-z]+(_[a-z]+)+$/.test(value) ? reasonInWords(value) : value;
  return preview(value, 160);
}
