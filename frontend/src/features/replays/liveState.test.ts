import { describe, expect, it } from "vitest";
import type { AttemptView } from "@/api/schema";
import type { LiveMessage } from "@/api/live";
import { aSession } from "@/testing/factories";
import { applyLive, EMPTY, type LiveState } from "./liveState";

function attempt(id: number, changes: Partial<AttemptView> = {}): AttemptView {
  return {
    id,
    sequence_no: 4,
    attempt: id,
    kind: "model",
    status: "intended",
    error: "",
    started_at: "2026-11-21T10:00:00Z",
    duration_ms: null,
    retry_at: null,
    ...changes,
  };
}

const text = (seq: number, offset: number, value: string, sequence_no = 4): LiveMessage => ({
  type: "text",
  seq,
  sequence_no,
  offset,
  text: value,
});

const play = (...messages: LiveMessage[]): LiveState => messages.reduce(applyLive, EMPTY);

const STORY: LiveMessage[] = [
  { type: "session", seq: 1, session: aSession() },
  { type: "steps", seq: 2, first: 1, last: 3 },
  { type: "attempt", seq: 3, attempt: attempt(1) },
  text(4, 0, "I am "),
  { type: "attempt", seq: 5, attempt: attempt(1, { status: "failed", error: "overloaded" }) },
  { type: "attempt", seq: 6, attempt: attempt(2) },
  text(7, 0, "I have "),
  text(8, 7, "refunded"),
  { type: "steps", seq: 9, first: 4, last: 4 },
  { type: "session", seq: 10, session: aSession({ status: "completed_mixed" }) },
];

describe("applyLive", () => {
  it("ignores messages that it has applied", () => {
    const state = play(...STORY);
    expect(STORY.reduce(applyLive, state)).toBe(state);
  });

  it("reaches the same state after any reconnect", () => {
    const whole = play(...STORY);
    for (let cut = 0; cut <= STORY.length; cut += 1) {
      const before = play(...STORY.slice(0, cut));
      const finalState = STORY.filter((message) => message.seq > before.seq - 2).reduce(applyLive, before);
      expect(finalState).toEqual(whole);
    }
  });

  it("restarts streamed text when a call retries", () => {
    expect(play(...STORY.slice(0, 4)).streaming?.text).toBe("I am ");
    expect(play(...STORY.slice(0, 8)).streaming?.text).toBe("I have refunded");
  });

  it("applies overlapping text once", () => {
    expect(play(text(1, 0, "one two"), text(2, 4, "two three")).streaming?.text).toBe("one two three");
  });

  it("counts text missed before joining", () => {
    expect(play(text(1, 120, "and so on")).streaming).toEqual({
      sequenceNo: 4,
      text: "and so on",
      missingCharacters: 120,
    });
    expect(play(text(1, 120, "and so"), text(2, 126, " on")).streaming?.text).toBe("and so on");
  });

  it("drops streamed text of readable steps", () => {
    expect(play(...STORY.slice(0, 9)).streaming).toBeNull();
    expect(play(...STORY.slice(0, 9), text(20, 0, "late")).streaming).toBeNull();
  });

  it("keeps the latest state per attempt", () => {
    const attempts = play(...STORY).attempts;
    expect(attempts.map((entry) => [entry.id, entry.status])).toEqual([
      [1, "failed"],
      [2, "intended"],
    ]);
  });

  it("knows after which message the agent's output is to be read again", () => {
    expect(play(...STORY).outputSeq).toBe(0);
    expect(play(...STORY, { type: "output", seq: 30 }).outputSeq).toBe(30);
  });

  it("never loses readable steps", () => {
    expect(
      play({ type: "steps", seq: 1, first: 1, last: 9 }, { type: "steps", seq: 2, first: 3, last: 4 }).lastStep,
    ).toBe(9);
  });
});
