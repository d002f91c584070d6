import type { AttemptView } from "@/api/schema";

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
