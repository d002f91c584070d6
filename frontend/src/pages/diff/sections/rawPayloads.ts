/** The recorded payloads behind a difference, as text for the merge view. */
import type { JsonValue, StepDetail } from "@/api/schema";

export type Payload = "input" | "output";

/** Kinds of items that concern a step's input. All others concern its output. */
const ABOUT_INPUT = /prompt|message|argument|parameter|query|template|variable|tool schema|filter/i;

export function payloadOf(kind: string): Payload {
  return ABOUT_INPUT.test(kind) ? "input" : "output";
}

/** The complete payload: texts verbatim, anything else as indented JSON in recorded order. */
export function rawText(step: StepDetail, payload: Payload): string {
  const value: JsonValue = step[payload];
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
