/** The state of a replay, built from its socket messages. Pure: the same messages give the same state. */
import type { AttemptView, SessionView } from "@/api/schema";
import type { LiveMessage } from "@/api/live";
import { hasEnded } from "@/domain/replays/status";

export interface StreamedText {
  sequenceNo: number;
  text: string;
  /** Number of characters before `text` that were not received. */
  missingCharacters: number;
}

export interface LiveState {
  /** Sequence number of the last message in this state. The socket resumes after it. */
  seq: number;
  session: SessionView | null;
  /** The last readable step of the derived run. */
  lastStep: number;
  /** Text of the current model call. Removed once its step is readable. */
  streaming: StreamedText | null;
  /** Live calls by id, each in its latest state. */
  attempts: readonly AttemptView[];
  /** Number of the message that announced the agent's last output. Its panel reads it again. */
  outputSeq: number;
}

export const EMPTY: LiveState = { seq: 0, session: null, lastStep: 0, streaming: null, attempts: [], outputSeq: 0 };

/** Apply a message to the state. Messages that it already contains change nothing. */
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
    case "output":
      return { ...state, outputSeq: message.seq };
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

/** A lower offset restarts the text: the call was retried. */
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
