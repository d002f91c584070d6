/** What the socket says. The shapes come from the API schema; `after=<seq>` resumes where a client stopped. */
import type { AttemptChanged, RunsTouched, SessionChanged, StepsResolved, TextStreamed } from "../api/schema";

export type SessionMessage = SessionChanged | StepsResolved | TextStreamed | AttemptChanged;
export type LiveMessage = SessionMessage | RunsTouched;

const TYPES: Record<LiveMessage["type"], true> = { session: true, steps: true, text: true, attempt: true, runs: true };

/** Reads one frame; a kind of message that this build does not know is null, never half understood. */
export function readMessage(frame: string): LiveMessage | null {
  const value: unknown = JSON.parse(frame);
  return isMessage(value) ? value : null;
}

function isMessage(value: unknown): value is LiveMessage {
  if (typeof value !== "object" || value === null || !("type" in value) || !("seq" in value)) return false;
  return typeof value.type === "string" && value.type in TYPES && typeof value.seq === "number";
}
