// Descriptions of a transcript's turns.
import type { StepSummary, TranscriptStep, Turn, TurnCall } from "@/api/schema";
import { isFailed } from "@/domain/steps/labels";
import { entriesOf, isObject, jsonInText } from "@/ui/format/json";
import { lookup } from "@/ui/format/lookup";
import { count, pluralize } from "@/ui/format/numbers";

const ROLES: Record<string, string> = {
  user: "User",
  assistant: "Assistant",
  system: "System prompt",
  developer: "Developer prompt",
  tool: "Tool result",
  unavailable: "Message that is not available",
};

/** The author of a message. */
export function roleWord({ role, name }: Turn): string {
  const word = lookup(ROLES, role) ?? (role || "Message");
  return name ? `${word} · ${name}` : word;
}

/** A tool call as a line of code: `get_order(order_id: "A-1042")`. */
export function callLine({ name, arguments: text }: TurnCall): string {
  const value = text.text.length === text.length ? jsonInText(text.text) : undefined;
  const args = isObject(value)
    ? entriesOf(value)
        .map(([key, item]) => `${key}: ${JSON.stringify(item)}`)
        .join(", ")
    : `${text.text}${text.text.length < text.length ? "…" : ""}`;
  return `${name}(${args})`;
}

/** What a model did, after its name. */
export function modelVerb(content: Turn | null): string {
  if (!content) return "";
  return content.calls.length === 0 ? "answers" : content.text.length > 0 ? "answers and asks for" : "asks for";
}

/** The heading of a check. A check that ran may have found a problem and still have succeeded as a step. */
export function checkTitle(step: StepSummary): string {
  const name = step.name || step.type;
  if (isFailed(step.status)) return `Check failed: ${name}`;
  if (step.status === "unverified") return `Check did not run: ${name}`;
  return `Check: ${name}`;
}

/** What of a step's payloads cannot be shown, in sentences. */
export function lossSentences({ losses }: TranscriptStep): string[] {
  return losses.map(({ field, loss, digest }) => `The ${field} is unavailable. Artifact ${digest} is ${loss}.`);
}

/** Content that a transcript does not show, such as images. */
export function blockWords(blocks: readonly string[]): string {
  const kinds = [...new Set(blocks)].map((kind) => kind.replaceAll("_", " "));
  return `${pluralize(blocks.length, "part")} not shown here (${kinds.join(", ")})`;
}

/** How much of a text is missing; empty for a whole text. */
export function cutWords(text: { text: string; length: number }): string {
  return text.text.length < text.length ? `Show all ${count(text.length)} characters` : "";
}
