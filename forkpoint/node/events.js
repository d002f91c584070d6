/** Reports of tool calls for the run that the gateway sees of this program. They never fail the agent. */

import { newId, post } from "./session.js";

// As in the gateway: numbers are microseconds since the start of the run, and the low bits distinguish events.
const SALTS = 64;
const [RUN, START] = (process.env.FORKPOINT_GATEWAY_RUN ?? "").split(" ");
const PROCESS = newId();
const pending = new Set();
let steps = 0;
let events = 0;
let hasWarned = false;

/** Begin the report of a call, and return the function that ends it. `question` is its id in a rerun. */
export function report(name, args, question) {
  if (!RUN) return () => {};
  const id = `${PROCESS}-${++steps}`;
  const startMs = performance.now();
  const attributes = question ? { rerun_call: question } : {};
  const call = attempt(() => event(id, "tool_called", { tool_name: name, tool_version: "", call_id: "", args, intercepted: true }));
  return (outcome) => {
    const latency_ms = performance.now() - startMs;
    const result = attempt(() => event(id, "tool_result", { tool_name: name, latency_ms, attributes, ...outcome }));
    if (call && result) send(call + result);
  };
}

export async function flush() {
  await Promise.all(pending);
}

function event(step_id, event_type, payload) {
  const now = performance.timeOrigin + performance.now();
  const passedUs = Math.max(0, Math.floor(now * 1000 - Number(START) * 1e6));
  const record = {
    schema_version: "1.0.0",
    run_id: RUN,
    step_id,
    parent_step_id: null,
    sequence_no: passedUs * SALTS + (events++ % SALTS),
    event_type,
    timestamp_utc: new Date(now).toISOString(),
    actor_type: "sdk",
    payload,
  };
  return `${JSON.stringify(record)}\n`;
}

function send(lines) {
  const rerun = process.env.FORKPOINT_RERUN;
  const delivery = post(rerun ? `/reruns/${encodeURIComponent(rerun)}/events` : "/events", lines)
    .catch(warn)
    .finally(() => pending.delete(delivery));
  pending.add(delivery);
}

/** Return the value, or undefined if it has no JSON form. */
function attempt(encode) {
  try {
    return encode();
  } catch (error) {
    warn(error);
  }
}

function warn(error) {
  if (hasWarned) return;
  hasWarned = true;
  console.warn(`forkpoint: a tool call was not recorded: ${error.message}`);
}
