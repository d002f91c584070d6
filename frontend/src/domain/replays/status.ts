// Descriptions of a replay session's status.
import type { SessionView } from "@/api/schema";

const IS_FINAL: Record<SessionView["status"], boolean> = {
  pending: false,
  running: false,
  awaiting_operator: false,
  completed_exact: true,
  completed_simulated: true,
  completed_mixed: true,
  failed_validation: true,
  failed_execution: true,
  cancelled: true,
};

/** Whether the session is finished. */
export function hasEnded(session: SessionView): boolean {
  return IS_FINAL[session.status];
}

export type Tone = "neutral" | "active" | "done" | "waiting" | "failed";

interface StatusWords {
  detail: string;
  tone: Tone;
}

const STATUS: Record<SessionView["status"], StatusWords> = {
  pending: { detail: "The replay is in the queue.", tone: "neutral" },
  running: { detail: "Finished steps are already saved.", tone: "active" },
  awaiting_operator: {
    detail: "A call needs an answer before the replay continues.",
    tone: "waiting",
  },
  completed_exact: {
    detail: "Every step has the output recorded for the same call.",
    tone: "done",
  },
  completed_mixed: {
    detail: "Some steps come from the recording, others ran again.",
    tone: "done",
  },
  completed_simulated: {
    detail: "No step after the fork has a recorded or cached output.",
    tone: "done",
  },
  failed_validation: {
    detail: "The plan could not run. Nothing was executed.",
    tone: "failed",
  },
  failed_execution: {
    detail: "The replay stopped at an error. Finished steps are saved.",
    tone: "failed",
  },
  cancelled: { detail: "Stopped on request. Finished steps are saved.", tone: "neutral" },
};

/** What differs while the agent itself runs. */
const AGENT_DETAIL: Partial<Record<SessionView["status"], string>> = {
  pending: "The agent starts as soon as a runner is free.",
  awaiting_operator: "The replay goes on when a runner of the app is online again. Start it, or cancel the replay.",
};

export function statusWords(session: Pick<SessionView, "status" | "engine" | "question">): StatusWords {
  const words = STATUS[session.status];
  const detail = session.engine === "agent" && session.question === null ? AGENT_DETAIL[session.status] : undefined;
  return detail === undefined ? words : { ...words, detail };
}

/** Whether the session waits because its runner was lost, and not for an answer or for consent. */
export function waitsForRunner(
  session: Pick<SessionView, "status" | "engine" | "question" | "tools_to_allow">,
): boolean {
  const isAway = session.status === "awaiting_operator" && session.engine === "agent" && session.question === null;
  return isAway && !waitsForConsent(session);
}

/** Whether an answer of the model calls a tool that no runner allows yet. */
export function waitsForConsent(session: Pick<SessionView, "status" | "tools_to_allow">): boolean {
  return session.status === "awaiting_operator" && session.tools_to_allow.length > 0;
}
