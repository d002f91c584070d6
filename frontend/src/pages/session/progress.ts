/** What a replay session says about itself, in words and shares. */
import type { AttemptView, SessionView } from "@/api/schema";

export type Tone = "neutral" | "active" | "exact" | "mixed" | "simulated" | "waiting" | "failed";

export interface StatusWords {
  title: string;
  detail: string;
  tone: Tone;
}

const STATUS: Record<SessionView["status"], StatusWords> = {
  pending: { title: "Waiting for a worker", detail: "The replay is in the queue.", tone: "neutral" },
  running: { title: "Replaying", detail: "Every finished step is already kept.", tone: "active" },
  awaiting_operator: {
    title: "Waiting for you",
    detail: "A call needs an answer before the replay goes on.",
    tone: "waiting",
  },
  completed_exact: {
    title: "Done: everything exact",
    detail: "Every step has the output that was recorded for the same call.",
    tone: "exact",
  },
  completed_mixed: {
    title: "Done: partly simulated",
    detail: "Some steps come from the recording, others were answered anew.",
    tone: "mixed",
  },
  completed_simulated: {
    title: "Done: simulated from the fork on",
    detail: "No step from the fork on has a recorded or cached output.",
    tone: "simulated",
  },
  failed_validation: {
    title: "Refused before it started",
    detail: "The plan could not be carried out; nothing ran.",
    tone: "failed",
  },
  failed_execution: {
    title: "Failed",
    detail: "The replay stopped at an error. Finished steps are kept.",
    tone: "failed",
  },
  cancelled: { title: "Cancelled", detail: "Stopped on request. Finished steps are kept.", tone: "neutral" },
};

export function statusWords(status: SessionView["status"]): StatusWords {
  return STATUS[status];
}

/** A measure with its limit: `share` is null where there is no limit, and never over 1. */
export interface Gauge {
  label: string;
  value: number;
  limit: number | null;
  share: number | null;
}

export function gauge(label: string, value: number, limit: number | null): Gauge {
  if (limit === null) return { label, value, limit, share: null };
  return { label, value, limit, share: limit === 0 ? Number(value > 0) : Math.min(1, value / limit) };
}

/** Steps done of those planned, until it is done: another path than planned is longer or shorter, and still whole. */
export function progress(session: Pick<SessionView, "status" | "resolved_steps" | "planned_steps">): Gauge {
  if (session.status.startsWith("completed")) return gauge("Steps", session.resolved_steps, null);
  return gauge("Steps", session.resolved_steps, Math.max(session.planned_steps, session.resolved_steps));
}

/** Whole seconds until the next try, 0 when it is due; null when none is planned. */
export function secondsUntilRetry(attempt: AttemptView, now: number): number | null {
  if (attempt.retry_at === null) return null;
  return Math.max(0, Math.ceil((Date.parse(attempt.retry_at) - now) / 1000));
}

/** The attempt that is waiting for its next try, if the call has not been tried again since. */
export function waitingAttempt(attempts: readonly AttemptView[]): AttemptView | null {
  const last = attempts.at(-1);
  return last?.status === "failed" && last.retry_at !== null ? last : null;
}

/** Attempts of one call side by side, in the order of the calls. */
export function attemptsByCall(attempts: readonly AttemptView[]): AttemptView[][] {
  const calls = new Map<string, AttemptView[]>();
  for (const attempt of attempts) {
    const key = `${attempt.kind} ${attempt.sequence_no}`;
    calls.set(key, [...(calls.get(key) ?? []), attempt]);
  }
  return [...calls.values()];
}
