/**
 * The tools that ask before they run, as the rerun knows them: an answer that calls another one does not reach the agent.
 *
 * The request runs in a thread, and the program waits for it: whatever client its model calls have, none is answered
 * before.
 */

import { Worker } from "node:worker_threads";
import { endProcess, TIMEOUT_MS, UNAVAILABLE } from "./session.js";

// Both numbers that the thread sets. The second is the length of the text in the rest, which says what went wrong.
const [IS_DONE, LENGTH] = [0, 1];
const LONGEST_TEXT = 2_000;
const HEADER_BYTES = 8;
let thread;

/** Tell the rerun about a tool, and return when it knows. */
export function declare(name) {
  const memory = new SharedArrayBuffer(HEADER_BYTES + LONGEST_TEXT);
  const numbers = new Int32Array(memory, 0, 2);
  thread ??= startThread();
  thread.postMessage({ name, memory });
  const isLate = Atomics.wait(numbers, IS_DONE, 0, TIMEOUT_MS) === "timed-out";
  const problem = isLate ? "it did not answer" : textIn(memory, numbers[LENGTH]);
  if (problem) endProcess(`the rerun did not take the name of tool ${name}: ${problem}`, UNAVAILABLE);
}

/** Answer a message of `declare`, in the thread. */
export function report(memory, problem) {
  const numbers = new Int32Array(memory, 0, 2);
  const { written } = new TextEncoder().encodeInto(problem, new Uint8Array(memory, HEADER_BYTES));
  numbers[LENGTH] = written;
  Atomics.store(numbers, IS_DONE, 1);
  Atomics.notify(numbers, IS_DONE);
}

function textIn(memory, length) {
  return new TextDecoder().decode(new Uint8Array(memory, HEADER_BYTES, length).slice());
}

/** Start the thread without the options of the program, such as `--input-type`, which are for its own code. */
function startThread() {
  const thread = new Worker(new URL("./declaring-thread.js", import.meta.url), { execArgv: [] });
  // It does not keep the program alive.
  thread.unref();
  return thread;
}
