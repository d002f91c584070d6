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

export type Tone = "neutral" | "active" | "exact" | "mixed" | "simulated" | "waiting" | "failed";

interface StatusWords {
  title: string;
  detail: string;
  tone: Tone;
}

const STATUS: Record<SessionView["status"], StatusWords> = {
  pending: { title: "Waiting for a worker", detail: "The replay is in the queue.", tone: "neutral" },
  running: { title: "Replaying", detail: "Finished steps are already saved.", tone: "active" },
  awaiting_operator: {
    title: "Waiting for you",
    detail: "A call needs an answer before the replay continues.",
    tone: "waiting",
  },
  completed_exact: {
    title: "Done: everything exact",
    detail: "Every step has the output recorded for the same call.",
    tone: "exact",
  },
  completed_mixed: {
    title: "Done: partly simulated",
    detail: "Some steps come from the recording, others were executed again.",
    tone: "mixed",
  },
  completed_simulated: {
    title: "Done: simulated after the fork",
    detail: "No step after the fork has a recorded or cached output.",
    tone: "simulated",
  },
  failed_validation: {
    title: "Rejected before it started",
    detail: "The plan could not be executed. Nothing ran.",
    tone: "failed",
  },
  failed_execution: {
    title: "Failed",
    detail: "The replay stopped at an error. Finished steps are saved.",
    tone: "failed",
  },
  cancelled: { title: "Cancelled", detail: "Stopped on request. Finished steps are saved.", tone: "neutral" },
};

export function statusWords(status: SessionView["status"]): StatusWords {
  return STATUS[status];
}
