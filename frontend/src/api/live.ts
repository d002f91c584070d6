// The live socket: reconnects by itself and resumes after the last message, so none is lost or repeated.
import { useEffect, useEffectEvent, useState } from "react";
import { connection } from "./connection/connection";
import type {
  AttemptMessage,
  BisectionChanged,
  DiffTouched,
  ExperimentChanged,
  ExperimentRowChanged,
  OutputMessage,
  RunsMessage,
  SessionStateMessage,
  StepsMessage,
  TextMessage,
} from "./schema";

export type LiveMessage =
  | SessionStateMessage
  | StepsMessage
  | TextMessage
  | AttemptMessage
  | OutputMessage
  | RunsMessage
  | DiffTouched
  | ExperimentChanged
  | ExperimentRowChanged
  | BisectionChanged;
export type ConnectionState = "connecting" | "open" | "waiting" | "closed";
export type LiveTopic =
  | { runs: 1 }
  | { run: string }
  | { replay: string }
  | { experiment: string }
  | { bisection: string }
  | { diff: string };

const kinds = {
  session: true,
  steps: true,
  text: true,
  attempt: true,
  output: true,
  runs: true,
  diff: true,
  experiment: true,
  experiment_row: true,
  bisection: true,
} satisfies Record<LiveMessage["type"], true>;

/** Parse a message. Null for types that this client does not know. */
export function parseMessage(text: string): LiveMessage | null {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null || !("type" in value) || !("seq" in value)) return null;
  return typeof value.type === "string" && value.type in kinds ? (value as LiveMessage) : null;
}

/** Delay before attempt `n` (from 0): doubles up to 15 s, plus up to 25 % jitter against simultaneous reconnects. */
export function backoff(attempt: number, random: () => number = Math.random): number {
  return Math.min(15_000, 400 * 2 ** attempt) * (1 + random() / 4);
}

interface Options {
  topic: LiveTopic;
  after?: number;
  onMessage: (message: LiveMessage) => void;
  onState?: (state: ConnectionState) => void;
  connect?: (url: string) => WebSocket;
}

function address(topic: LiveTopic, after: number): string {
  const query = new URLSearchParams({ after: String(after) });
  for (const [name, value] of Object.entries(topic)) query.set(name, String(value));
  return `${window.location.origin.replace(/^http/, "ws")}/ws/live?${query}`;
}

/** Open the socket of a topic. Returns a function that closes it for good. */
export function openLive({ topic, after = 0, onMessage, onState, connect = (url) => new WebSocket(url) }: Options) {
  let last = after;
  let attempt = 0;
  let closed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let socket: WebSocket;

  const open = () => {
    onState?.("connecting");
    socket = connect(address(topic, last));
    socket.onopen = () => {
      attempt = 0;
      onState?.("open");
    };
    socket.onmessage = (event: MessageEvent<string>) => {
      const message = parseMessage(event.data);
      if (!message) return;
      // Hints are numbered per connection. Only session messages have a persistent sequence.
      if (message.type !== "runs" && message.type !== "diff") {
        if (message.seq <= last) return;
        last = message.seq;
      }
      onMessage(message);
    };
    socket.onclose = () => {
      if (closed) return;
      onState?.("waiting");
      timer = setTimeout(open, backoff(attempt++));
    };
  };
  open();
  return () => {
    closed = true;
    clearTimeout(timer);
    socket.onmessage = null;
    // A browser complains in its console about a socket that is closed while it connects.
    if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
    else socket.close();
    onState?.("closed");
  };
}

/** Subscribe to a topic while the component is mounted. `null` subscribes to nothing. */
export function useLive(topic: LiveTopic | null, handler: (message: LiveMessage) => void, after = 0): ConnectionState {
  const [state, setState] = useState<ConnectionState>("connecting");
  const onMessage = useEffectEvent(handler);
  const start = useEffectEvent(() => after);
  const key = topic && JSON.stringify(topic);
  useEffect(() => {
    if (key === null) return;
    return openLive({
      topic: JSON.parse(key) as LiveTopic,
      after: start(),
      onMessage: (message) => onMessage(message),
      onState: (next) => {
        if (next === "waiting") void connection.check();
        setState(next);
      },
    });
  }, [key]);
  return topic ? state : "closed";
}
