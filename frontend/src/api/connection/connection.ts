// Whether the server answers. When it stops, it is asked again every few seconds until it does.
import { useSyncExternalStore } from "react";

export interface ConnectionStatus {
  readonly reachable: boolean;
  /** When an unreachable server is asked next, in ms since 1970. Null while it is being asked. */
  readonly nextTry: number | null;
}

export const RETRY_MS = 3000;
const ANSWER_LIMIT_MS = 5000;
const REACHABLE: ConnectionStatus = { reachable: true, nextTry: null };

export class Connection {
  private readonly ask: () => Promise<boolean>;
  private readonly listeners = new Set<() => void>();
  private current: ConnectionStatus = REACHABLE;
  private question: Promise<void> | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ask: () => Promise<boolean>) {
    this.ask = ask;
  }

  readonly status = (): ConnectionStatus => this.current;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Ask the server now: a request or a socket has failed, or the user wants to. */
  check(): Promise<void> {
    clearTimeout(this.timer);
    if (!this.current.reachable) this.set({ reachable: false, nextTry: null });
    this.question ??= this.ask().then((reachable) => {
      this.question = null;
      if (!reachable) this.timer = setTimeout(() => void this.check(), RETRY_MS);
      this.set(reachable ? REACHABLE : { reachable: false, nextTry: Date.now() + RETRY_MS });
    });
    return this.question;
  }

  /** Ask the server, and wait until it answers. */
  async recover(): Promise<void> {
    await this.check();
    while (!this.current.reachable) await this.change();
  }

  private change(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.subscribe(() => {
        stop();
        resolve();
      });
    });
  }

  private set(status: ConnectionStatus): void {
    this.current = status;
    for (const listener of [...this.listeners]) listener();
  }
}

async function askHealth(): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
    return (await fetch("/api/v1/health", { cache: "no-store", signal })).ok;
  } catch {
    return false;
  }
}

export const connection = new Connection(askHealth);

export function useConnection(): ConnectionStatus {
  return useSyncExternalStore(connection.subscribe, connection.status);
}
