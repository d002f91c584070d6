/** Tools of an agent: recorded beside the model calls of the gateway, and answered from the recording in a rerun. */

import { randomUUID } from "node:crypto";
import { flush, report } from "./events.js";
import { describeError, formOfError, restoreError } from "./errors.js";
import { formOf, restore } from "./forms.js";
import { declare } from "./declaration.js";
import { ask, isReplay } from "./session.js";

export { flush, isReplay };

const ADDRESSES = { openai: "OPENAI_BASE_URL", anthropic: "ANTHROPIC_BASE_URL", gemini: "GOOGLE_GEMINI_BASE_URL" };

export function tool(name, call, options = {}) {
  if (isReplay() && process.env.FORKPOINT_GATEWAY && !name.startsWith("forkpoint.")) declare(name);
  return async (args) => {
    const answer = isReplay() ? await ask("tool", name, args) : null;
    const end = report(name, args, answer?.call);
    try {
      const makesCall = answer === null || answer.decision === "run";
      const result = makesCall ? await call(answer?.arguments ?? args) : await outcome(answer, options);
      const form = formOf(result);
      end({ result: result ?? null, status: "success", ...(form && { output_form: form }) });
      return result;
    } catch (error) {
      const form = formOfError(error);
      end({ result: null, status: "error", error: describeError(error), ...(form && { output_form: form }) });
      throw error;
    }
  };
}

export function baseUrl(provider, address) {
  const gateway = process.env.FORKPOINT_GATEWAY;
  return process.env[ADDRESSES[provider]] || (gateway ? `${gateway}/${provider}` : address);
}

const readClock = tool("forkpoint.now", () => new Date().toISOString());

export const random = () => drawNumber({});
export const uuid = () => drawId({});
export const now = async () => new Date(await readClock({}));

const drawNumber = tool("forkpoint.random", () => Math.random());
const drawId = tool("forkpoint.uuid", () => randomUUID());

async function outcome(answer, options) {
  if (answer.error) {
    const { error, isFaithful } = restoreError(answer.error, answer.output_form);
    if (!isFaithful) await answer.reportStandIn();
    throw error;
  }
  if (answer.is_text) return options.returnsText ? answer.output : parse(answer.output);
  const { value, isFaithful } = restore(answer.output, answer.output_form);
  if (!isFaithful) await answer.reportStandIn();
  return value;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
