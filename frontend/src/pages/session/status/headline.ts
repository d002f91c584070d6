// What a finished replay did, in one short sentence. Pure.
import type { SessionView } from "@/api/schema";
import { waitsForConsent, waitsForRunner } from "@/domain/replays/status";
import { isCut } from "@/domain/runs/answers";

type Ending = Pick<
  SessionView,
  "status" | "answer" | "source_answer" | "outcome" | "source_outcome" | "engine" | "question" | "tools_to_allow"
>;

/** "The answer changed, and the run passes now". */
export function headline(session: Ending): string {
  switch (session.status) {
    case "pending":
      return session.engine === "agent" ? "Waiting for a runner" : "Waiting for a worker";
    case "running":
      return session.engine === "agent" ? "The agent is running" : "Replaying";
    case "awaiting_operator":
      if (waitsForConsent(session)) return "Waiting for your consent";
      return waitsForRunner(session) ? "The runner is gone" : "Waiting for you";
    case "failed_validation":
      return "The replay was refused";
    case "failed_execution":
      return "The replay failed";
    case "cancelled":
      return "The replay was cancelled";
    case "completed_exact":
    case "completed_mixed":
    case "completed_simulated":
      return [answerWords(session), outcomeWords(session)].filter(Boolean).join(", ");
    default:
      return session.status satisfies never;
  }
}

function answerWords({ answer, source_answer: before }: Ending): string {
  if (answer === "") return before === "" ? "Replayed to the end" : "The new run has no final answer";
  if (before === "") return "The new run has an answer";
  if (answer !== before) return "The answer changed";
  return isCut(answer) ? "The answer begins as recorded" : "The answer is the same";
}

function outcomeWords({ outcome, source_outcome: before }: Ending): string {
  switch (outcome) {
    case "passed":
      return before === "passed" ? "and the run still passes" : "and the run passes now";
    case "failed":
      return before === "failed" ? "and the run still fails" : "and the run fails now";
    case "unverified":
      return "and nothing verified the outcome";
    case "unknown":
    case null:
      return "";
    default:
      return outcome satisfies never;
  }
}
