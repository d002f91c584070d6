/** How a tool is recorded and replayed. */
export interface ToolOptions {
  /** The tool returns text that may look like JSON: a replay gives it as text where only a text is known. */
  returnsText?: boolean;
}

/**
 * Return a function that records each call of a tool. In a rerun it gives the recorded outcome, and makes the call only
 * if it is allowed to. The arguments are one object, as a model sends them.
 */
export function tool<Arguments extends object, Result>(
  name: string,
  call: (args: Arguments) => Result | Promise<Result>,
  options?: ToolOptions,
): (args: Arguments) => Promise<Result>;

/** Whether this process runs in a rerun, which answers its calls from a recording. */
export function isReplay(): boolean;

/**
 * The address of a provider's API: that of the gateway in a recording or a rerun, else `address`. The provider is
 * `openai`, `anthropic`, `gemini`, or one that the server is configured with.
 */
export function baseUrl(provider: string, address: string): string;

/** The time; in a rerun the recorded one. */
export function now(): Promise<Date>;

/** A random number from 0 to 1, without 1; in a rerun the recorded one. */
export function random(): Promise<number>;

/** A random id; in a rerun the recorded one. */
export function uuid(): Promise<string>;

/** Wait until everything recorded so far is on the server. Only programs that call `process.exit` need it. */
export function flush(): Promise<void>;
