/** What a replay does at the step that it has reached. */
import type { SessionView } from "@/api/schema";
import { waitsForConsent, waitsForRunner } from "@/domain/replays/status";

/** Whether a running agent asks. Its steps lag behind, so the next row need not be the call that waits. */
export function isAgentQuestion({ engine, question }: SessionView): boolean {
  return engine === "agent" && question !== null;
}

export function currentWords(session: SessionView): string {
  const { status, current, engine } = session;
  if (waitsForConsent(session)) return "waits for your consent";
  if (waitsForRunner(session)) return "waits for a runner";
  if (isAgentQuestion(session)) return "the agent waits for your answer";
  if (status === "awaiting_operator") return "waits for your answer";
  if (status === "pending" && engine === "agent") return "waits for a runner";
  // The step number is already shown.
  return current.replace(/^step \d+: /, "") || "next step";
}
