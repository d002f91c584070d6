// The facts behind a label, as the server records them with the step.
import type { JsonValue } from "@/api/schema";
import { isBranch, preview } from "@/ui/format/json";
import { reasonSentence } from "@/domain/steps/labels";

const names: Record<string, string> = {
  why: "why not exact",
  differs: "what differs",
  signature: "signature version",
  ignored: "excluded from the signature",
};

export function factName(name: string): string {
  return names[name] ?? name.replaceAll("_", " ");
}

/** What a hook did with a call or request, as name and description. */
export function hookFacts(name: string, value: JsonValue): [string, string][] | null {
  const decisions = name === "hook" ? [value] : name === "hooks" && Array.isArray(value) ? value : null;
  if (!decisions) return null;
  return decisions.filter(isRecord).flatMap((decision): [string, string][] => {
    const hook: [string, string] = [
      "hook",
      `${text(decision.name)} ${HOOK_ACTIONS[text(decision.action)] ?? text(decision.action)}`,
    ];
    if (decision.asked !== undefined) return [hook, ["requested with", preview(decision.asked, 400)]];
    const words = text(decision.text ?? decision.message);
    return words ? [hook, ["message", words]] : [hook];
  });
}

const HOOK_ACTIONS: Record<string, string> = {
  deny: "denied the call",
  modify_args: "changed the arguments",
  system_message: "added a system message",
  append_context: "added context",
};

function isRecord(value: JsonValue): value is Record<string, JsonValue> {
  return isBranch(value) && !Array.isArray(value);
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** Lists of plain values in full, known codes as sentences, anything else shortened. */
export function factWords(value: JsonValue): string {
  if (Array.isArray(value) && value.length > 0 && !value.some(isBranch)) return value.map(String).join(", ");
  if (typeof value === "string") return /^[a-z]+(_[a-z]+)+$/.test(value) ? reasonSentence(value) : value;
  return preview(value, 160);
}
