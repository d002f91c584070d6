import type { AttemptView } from "@/api/schema";

/** Whole seconds until the next attempt, 0 if it is due. Null if none is planned. */
export function secondsUntilRetry(attempt: AttemptView, now: number): number | null {
  if (attempt.retry_at === null) return null;
  return Math.max(0, Math.ceil((Date.parse(attempt.retry_at) - now) / 1000));
}

/** The attempt that is waiting for a retry, if the call has not been retried yet. */
export function waitingAttempt(attempts: readonly AttemptView[]): AttemptView | null {
  const last = attempts.at(-1);
  return last?.status === "failed" && last.retry_at !== null ? last : null;
}

/** Attempts grouped by call, in call order. */
export function attemptsByCall(attempts: readonly AttemptView[]): AttemptView[][] {
  const calls = new Map<string, AttemptView[]>();
  for (const attempt of attempts) {
    const key = `${attempt.kind} ${attempt.sequence_no}`;
    calls.set(key, [...(calls.get(key) ?? []), attempt]);
  }
  return [...calls.values()];
}
