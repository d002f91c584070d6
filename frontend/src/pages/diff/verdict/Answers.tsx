import { Tooltip } from "@mantine/core";
import type { ReactElement } from "react";
import type { RunVerdict } from "@/api/schema";
import { SOURCES } from "@/domain/runs/judgements";
import { candidateName } from "@/domain/diffs/candidateName";
import { AnswerPair } from "@/features/runs/AnswerPair";
import { OutcomeMark } from "@/features/runs/RunOutcome";
import { useReport, type Side } from "../reportContext";
import classes from "./Verdict.module.css";

/** The final answers of both runs, each with the outcome of its run. */
export function Answers(): ReactElement | null {
  const { report } = useReport();
  const { answers, outcomes, base, candidate } = report;
  if (!answers && !outcomes) return null;
  const isFork = candidate.source_run === base.id;
  const names: Record<Side, string> = {
    base: isFork ? "Recorded" : "Base",
    candidate: isFork ? candidateName(report) : "Candidate",
  };
  const side = (name: Side) => ({
    label: `Answer of the ${name}`,
    name: names[name],
    outcome: outcomes && <Outcome verdict={outcomes[name]} />,
    text: answers?.[name],
  });
  return <AnswerPair sides={[side("base"), side("candidate")]} />;
}

function Outcome({ verdict }: { verdict: RunVerdict }): ReactElement {
  const reason = [verdict.reason, verdict.basis && SOURCES[verdict.basis]].filter(Boolean).join(" · ");
  return reason ? (
    <Tooltip label={reason}>
      <span tabIndex={0} className={classes.outcome}>
        <OutcomeMark outcome={verdict.outcome} />
      </span>
    </Tooltip>
  ) : (
    <OutcomeMark outcome={verdict.outcome} />
  );
}
