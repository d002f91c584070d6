import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { stepQuery } from "@/api/runs/runs";
import type { Outcome, SessionView, StepSummary } from "@/api/schema";
import { runTitle } from "@/domain/runs/title";
import { AnswerPair } from "@/features/runs/AnswerPair";
import { OutcomeMark } from "@/features/runs/RunOutcome";
import { RunLink } from "@/features/share/RunLink";
import { answerText } from "../answers";

/** The recorded answer and the new one, each with the outcome of its run. */
export function Result({
  session,
  steps,
}: {
  session: SessionView;
  steps: readonly StepSummary[];
}): ReactElement | null {
  const answer = useFullAnswer(session, steps);
  if (session.answer === "" && session.source_answer === "") return null;
  return (
    <AnswerPair
      sides={[
        {
          label: "Recorded answer",
          name: <RunLink run={session.source_run}>Recorded</RunLink>,
          outcome: <OutcomeMark outcome={session.source_outcome} />,
          reason: openReason(session.source_outcome, session.source_outcome_reason),
          text: session.source_answer || null,
        },
        {
          label: "New answer",
          name: session.run ? <RunLink run={session.run}>{nameOf(session)}</RunLink> : nameOf(session),
          outcome: session.outcome && <OutcomeMark outcome={session.outcome} />,
          reason: openReason(session.outcome, session.outcome_reason),
          text: answer || null,
        },
      ]}
    />
  );
}

/** Why a run did not pass. What passed needs no words. */
function openReason(outcome: Outcome | null, reason: string): string | undefined {
  return outcome === "passed" ? undefined : reason;
}

function nameOf(session: SessionView): string {
  return runTitle({ ...session, name: "This replay" });
}

/** The text of the last output step; the start of it while it loads. */
function useFullAnswer(session: SessionView, steps: readonly StepSummary[]): string {
  const output = steps.findLast((step) => step.type === "output");
  const { data } = useQuery({ ...stepQuery(output?.id ?? ""), enabled: output !== undefined });
  return (data && answerText(data.output)) ?? session.answer;
}
