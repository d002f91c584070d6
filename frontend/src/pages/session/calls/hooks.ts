// Descriptions of hook outcomes.
import type { HookOutcomeView } from "@/api/schema";
import { isBranch, preview } from "@/ui/format/json";
import { lookup } from "@/ui/format/lookup";

export interface HookWords {
  /** The decision, or a note that there was none. */
  action: string;
  /** The message or arguments that the hook returned. */
  message: string;
  /** The agent's original arguments, if the hook replaced them. */
  request: string;
  tone: "failed" | "simulated" | "plain";
}

const HOOK_ACTIONS: Record<string, string> = {
  deny: "denied the call",
  modify_args: "changed the arguments",
  stop: "stopped the agent",
  system_message: "added a system message",
  append_context: "added context",
};

export function outcomeWords(outcome: HookOutcomeView): HookWords {
  const decision = isBranch(outcome.decision) && !Array.isArray(outcome.decision) ? outcome.decision : {};
  const action = typeof decision.action === "string" ? decision.action : "";
  const message = decision.message ?? decision.reason ?? decision.text ?? decision.args ?? "";
  return {
    action: lookup(HOOK_ACTIONS, action) ?? "did not answer",
    message: typeof message === "string" ? message : preview(message, 160),
    request: action === "modify_args" ? preview(outcome.asked, 160) : "",
    tone:
      action === "deny" || action === "stop" ? "failed" : Object.hasOwn(HOOK_ACTIONS, action) ? "simulated" : "plain",
  };
}
