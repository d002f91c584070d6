/** The state of a replay as its socket messages build it up. Pure: the same messages give the same state. */
import type { AttemptView, SessionView } from "@/api/schema";
import type { LiveMessage } from "@/api/live";
import { hasEnded } from "@/domain/replays/status";

export interface StreamedText {
  sequenceNo: number;
  text: string;
  /** Characters that came before `text` and were not seen. */
  missingCharacters: number;
}

export interface LiveState {
  /** The last message that is in this state; the socket resumes after it. */
  seq: number;
  session: SessionView | null;
  /** The last step of the derived run that is readable. */
  lastStep: number;
  /** Text of the model call under way; gone once its step is readable. */
  streaming: StreamedText | null;
  /** Live calls in the order of their ids, each as it went last. */
  attempts: readonly AttemptView[];
}

export const EMPTY: LiveState = { seq: 0, session: null, lastStep: 0, streaming: null, attempts: [] };

/** Puts one message into the state. A message that is in it already changes nothing. */
export function applyLive(state: LiveState, message: LiveMessage): LiveState {
  if (message.seq <= state.seq) return state;
  return { ...applyNew(state, message), seq: message.seq };
}

function applyNew(state: LiveState, message: LiveMessage): LiveState {
  switch (message.type) {
    case "session":
      return { ...state, session: message.session, streaming: hasEnded(message.session) ? null : state.streaming };
    case "steps":
      return {
        ...state,
        lastStep: Math.max(state.lastStep, message.last),
        streaming: state.streaming && state.streaming.sequenceNo <= message.last ? null : state.streaming,
      };
    case "text":
      return message.sequence_no <= state.lastStep
        ? state
        : { ...state, streaming: appendText(state.streaming, message.sequence_no, message.offset, message.text) };
    case "attempt":
      return { ...state, attempts: upsertAttempt(state.attempts, message.attempt) };
    case "runs":
    case "diff":
    case "experiment":
    case "experiment_row":
    case "bisection":
      return state;
    default:
      return message satisfies never;
  }
}

/** A lower offset than what is there starts over: the call was tried again. */
function appendText(previous: StreamedText | null, sequenceNo: number, offset: number, text: string): StreamedText {
  if (previous?.sequenceNo !== sequenceNo) return { sequenceNo, text, missingCharacters: offset };
  const end = previous.missingCharacters + previous.text.length;
  if (offset > end) return { sequenceNo, text, missingCharacters: offset };
  return { ...previous, text: previous.text.slice(0, Math.max(0, offset - previous.missingCharacters)) + text };
}

function upsertAttempt(attempts: readonly AttemptView[], attempt: AttemptView): AttemptView[] {
  const otherAttempts = attempts.filter((item) => item.id !== attempt.id);
  return [...otherAttempts, attempt].sort((a, b) => a.id - b.id);
}
