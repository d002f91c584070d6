import { describe, expect, it } from "vitest";
import type { AttemptView } from "@/api/schema";
import { attemptsByCall, secondsUntilRetry, waitingAttempt } from "./callAttempts";

function attempt(id: number, changes: Partial<AttemptView> = {}): AttemptView {
  return {
    id,
    sequence_no: 4,
    attempt: id,
    kind: "model",
    status: "failed",
    error: "429 rate limited",
    started_at: "2026-11-21T10:00:00Z",
    duration_ms: 20,
    retry_at: null,
    ...changes,
  };
}

describe("secondsUntilRetry", () => {
  const now = Date.parse("2026-11-21T10:00:00Z");

  it("counts down to zero", () => {
    expect(secondsUntilRetry(attempt(1, { retry_at: "2026-11-21T10:00:01.200Z" }), now)).toBe(2);
    expect(secondsUntilRetry(attempt(1, { retry_at: "2026-11-21T09:59:00Z" }), now)).toBe(0);
  });

  it("is null without a planned retry", () => {
    expect(secondsUntilRetry(attempt(1), now)).toBeNull();
  });
});

describe("waitingAttempt", () => {
  const waiting = attempt(1, { retry_at: "2026-11-21T10:00:02Z" });

  it("is the failed attempt awaiting a retry", () => {
    expect(waitingAttempt([waiting])).toBe(waiting);
  });

  it("is null once the next attempt has started", () => {
    expect(waitingAttempt([waiting, attempt(2, { status: "intended" })])).toBeNull();
  });
});

describe("attemptsByCall", () => {
  it("groups attempts by call", () => {
    const calls = attemptsByCall([attempt(1), attempt(2, { status: "succeeded" }), attempt(3, { sequence_no: 8 })]);
    expect(calls.map((call) => call.map((entry) => entry.id))).toEqual([[1, 2], [3]]);
  });
});
