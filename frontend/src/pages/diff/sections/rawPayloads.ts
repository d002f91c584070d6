/** The recorded payloads behind a difference, as text that two editors can show beside each other. */
import type { JsonValue, StepDetail } from "@/api/schema";

export type Payload = "input" | "output";

/** Kinds of items that are about what went into a step. All others are about what came out. */
const ABOUT_INPUT = /prompt|message|argument|parameter|query|template|variable|tool schema|filter/i;

export function payloadOf(kind: string): Payload {
  return ABOUT_INPUT.test(kind) ? "input" : "output";
}

/** Untouched and in full: a text as it is, anything else as indented JSON in its recorded order. */
export function rawText(step: StepDetail, payload: Payload): string {
  const value: JsonValue = step[payload];
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
