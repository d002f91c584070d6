/** The rerun that this process is a part of. Without its answer nothing may go on, so each failure ends the process. */

import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

// Exit codes, as those of `forkpoint rerun`.
const REFUSAL = 5;
export const UNAVAILABLE = 6;
export const TIMEOUT_MS = 60_000;
// How long an agent waits for an operator, and how long for a server that is away meanwhile.
const OPERATOR_MS = 3_600_000;
const OUTAGE_MS = 120_000;
const POLL_MS = 500;

/** Return a random id, also where `--freeze` lets the agent draw those of its recording. */
export const newId = globalThis[Symbol.for("forkpoint.randomUUID")] ?? randomUUID;

export const isReplay = () => Boolean(process.env.FORKPOINT_RERUN);

/** Return what becomes of a call: its outcome, or that it may be made, with other `arguments` if an override sets them. */
export async function ask(type, name, args) {
  const start = process.env.FORKPOINT_RERUN;
  const path = `/reruns/${encodeURIComponent(start)}/tools`;
  const id = start.split(".")[0];
  const call = newId();
  const question = { type, name, arguments: args, call, ends_agent: true };
  let answer;
  try {
    answer = await post(path, JSON.stringify(question));
    if (answer.decision === "ask") answer = await awaitOperator(path, question);
  } catch (error) {
    endProcess(`rerun ${id} gave no answer about ${name}: ${error.message}`, UNAVAILABLE);
  }
  if (answer.decision === "refusal") endProcess(`rerun ${id}: ${answer.reason}`, REFUSAL);
  // The agent did not wait for the result.
  if (answer.delay_s) await setTimeout(answer.delay_s * 1000);
  return { ...answer, call, reportStandIn: () => reportStandIn(path, question) };
}

/** Report that a call gets less than it returned when recorded, so that it is not labelled as exact. */
async function reportStandIn(path, question) {
  try {
    await post(path, JSON.stringify({ ...question, has_stand_in: true }));
  } catch (error) {
    endProcess(`the rerun did not take a report about ${question.name}: ${error.message}`, UNAVAILABLE);
  }
}

/** Ask again until an operator has answered. The server may be away meanwhile, for as long as a restart takes. */
async function awaitOperator(path, question) {
  const endMs = performance.now() + OPERATOR_MS;
  let contactMs = performance.now();
  while (performance.now() < endMs) {
    await setTimeout(POLL_MS);
    try {
      const answer = await post(path, JSON.stringify(question));
      if (answer.decision !== "ask") return answer;
      contactMs = performance.now();
    } catch (error) {
      if (error.isRefusal || performance.now() - contactMs > OUTAGE_MS) throw error;
    }
  }
  return post(path, JSON.stringify({ ...question, is_last: true }));
}

/** Return a JSON text without halves of surrogate pairs, which the server cannot store: JSON escapes only these. */
export function wellFormed(json) {
  return json.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\\ufffd");
}

/** Return the JSON of the server's response; throw an error if it is none. */
export const post = (path, body) => send(`${(process.env.FORKPOINT_URL ?? "").replace(/\/+$/, "")}/api/v1${path}`, body);

export async function send(address, body) {
  const token = process.env.FORKPOINT_TOKEN;
  const response = await fetch(address, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: wellFormed(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const content = await response.json();
  if (!response.ok) throw Object.assign(new Error(content.detail ?? `HTTP ${response.status}`), { isRefusal: response.status < 500 });
  return content;
}

export function endProcess(reason, code) {
  writeSync(2, `forkpoint: ${reason}\n`);
  process.exit(code);
}
