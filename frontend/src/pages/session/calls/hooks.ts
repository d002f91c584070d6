// What hooks did in a replay, in words.
import type { HookOutcomeView } from "@/api/schema";
import { isBranch, preview } from "@/ui/format/json";

export interface HookWords {
  /** What was decided, or that nobody decided. */
  did: string;
  /** The text or the arguments that the hook gave. */
  said: string;
  /** The arguments that the agent had asked with, where others took their place. */
  asked: string;
  tone: "failed" | "simulated" | "plain";
}

const DID: Record<string, string> = {
  deny: "denied the call",
  modify_args: "changed the arguments",
  stop: "stopped the agent",
  system_message: "added a system message",
  append_context: "added context",
};

export function outcomeWords(outcome: HookOutcomeView): HookWords {
  const decision = isBranch(outcome.decision) && !Array.isArray(outcome.decision) ? outcome.decision : {};
  const action = typeof decision.action === "string" ? decision.action : "";
  const said = decision.message ?? decision.reason ?? decision.text ?? decision.args ?? "";
  return {
    did: DID[action] ?? "gave no answer",
    said: typeof said === "string" ? said : preview(said, 160),
    asked: action === "modify_args" ? preview(outcome.asked, 160) : "",
    tone: action === "deny" || action === "stop" ? "failed" : action in DID ? "simulated" : "plain",
  };
}
