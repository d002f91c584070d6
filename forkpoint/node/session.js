/** The rerun that this process is a part of. Without its answer nothing may go on, so each failure ends the process. */

import { writeSync } from "node:fs";

// Exit codes, as those of `forkpoint rerun`.
const REFUSAL = 5;
const UNAVAILABLE = 6;
const TIMEOUT_MS = 60_000;

export const isReplay = () => Boolean(process.env.FORKPOINT_RERUN);

/** Return the recorded outcome of a call; null if the call may be made. */
export async function ask(type, name, args) {
  const id = process.env.FORKPOINT_RERUN;
  let answer;
  try {
    answer = await post(`/reruns/${encodeURIComponent(id)}/tools`, JSON.stringify({ type, name, arguments: args }));
  } catch (error) {
    endProcess(`rerun ${id} gave no answer about ${name}: ${error.message}`, UNAVAILABLE);
  }
  if (answer.decision === "refusal") endProcess(`rerun ${id}: ${answer.reason}`, REFUSAL);
  return answer.decision === "run" ? null : answer;
}

/** Return the JSON of the server's response; throw an error if it is none. */
export async function post(path, body) {
  const token = process.env.FORKPOINT_TOKEN;
  const response = await fetch(`${(process.env.FORKPOINT_URL ?? "").replace(/\/+$/, "")}/api/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const content = await response.json();
  if (!response.ok) throw new Error(content.detail ?? `HTTP ${response.status}`);
  return content;
}

function endProcess(reason, code) {
  writeSync(2, `forkpoint: ${reason}\n`);
  process.exit(code);
}
