// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { backoff, openLive, parseMessage, type LiveMessage, type ConnectionState } from "./live";

class FakeSocket {
  static all: FakeSocket[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  closed = false;
  readyState: number = WebSocket.OPEN;
  readonly url: string;
  constructor(url: string) {
    this.url = url;
    FakeSocket.all.push(this);
  }
  close() {
    this.closed = true;
  }
  say(message: unknown) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}
const connect = (url: string) => new FakeSocket(url) as unknown as WebSocket;
const socket = (index: number) => FakeSocket.all[index] ?? expect.fail(`socket ${index} was not opened`);
const text = (seq: number) => ({ type: "text", seq, sequence_no: 1, offset: 0, text: "x" });

beforeEach(() => {
  FakeSocket.all = [];
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

test("resumes after the last message without repeats", () => {
  const sequence: number[] = [];
  const close = openLive({ topic: { replay: "s1" }, onMessage: (message) => sequence.push(message.seq), connect });
  socket(0).onopen?.();
  socket(0).say(text(1));
  socket(0).say(text(2));
  socket(0).onclose?.();
  vi.advanceTimersByTime(1000);
  expect(new URL(socket(1).url).searchParams.get("after")).toBe("2");
  socket(1).say(text(2));
  socket(1).say(text(3));
  expect(sequence).toEqual([1, 2, 3]);
  close();
});

test("delivers hints after a reconnect", () => {
  const messages: LiveMessage[] = [];
  const close = openLive({ topic: { runs: 1 }, onMessage: (message) => messages.push(message), connect });
  socket(0).say({ type: "runs", seq: 1, run: null });
  socket(0).onclose?.();
  vi.advanceTimersByTime(1000);
  socket(1).say({ type: "runs", seq: 1, run: null });
  expect(messages).toHaveLength(2);
  close();
});

test("never reconnects after closing", () => {
  const states: ConnectionState[] = [];
  const close = openLive({
    topic: { runs: 1 },
    onMessage: () => undefined,
    onState: (state) => states.push(state),
    connect,
  });
  close();
  socket(0).onclose?.();
  vi.advanceTimersByTime(60_000);
  expect(FakeSocket.all).toHaveLength(1);
  expect(states).toEqual(["connecting", "closed"]);
});

test("closes a socket that still connects when it is open", () => {
  const messages: LiveMessage[] = [];
  const close = openLive({ topic: { runs: 1 }, onMessage: (message) => messages.push(message), connect });
  socket(0).readyState = WebSocket.CONNECTING;
  close();
  expect(socket(0).closed).toBe(false);
  socket(0).onopen?.();
  socket(0).say({ type: "runs", seq: 1, run: null });
  expect(socket(0).closed).toBe(true);
  expect(messages).toEqual([]);
});

test("ignores messages of unknown types", () => {
  expect(parseMessage('{"type":"new thing","seq":4}')).toBeNull();
  expect(parseMessage("17")).toBeNull();
});

test("backs off up to fifteen seconds", () => {
  expect([0, 1, 2, 9].map((attempt) => backoff(attempt, () => 0))).toEqual([400, 800, 1600, 15_000]);
});
