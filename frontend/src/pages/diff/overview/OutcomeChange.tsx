import { IconArrowRight } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { RunVerdict, RunVerdicts } from "@/api/schema";
import { SOURCES } from "@/domain/runs/judgements";
import { OutcomeMark } from "@/features/runs/RunOutcome";
import classes from "./OutcomeChange.module.css";

/** The outcome of both runs, each with what decided it. Hidden if neither was judged. */
export function OutcomeChange({ outcomes: { base, candidate } }: { outcomes: RunVerdicts }): ReactElement | null {
  if (base.outcome === "unknown" && candidate.outcome === "unknown") return null;
  return (
    <div className={classes.outcomes} role="group" aria-label="Outcomes">
      <Side name="base" verdict={base} />
      <IconArrowRight size={15} aria-label="changed to" className="muted" />
      <Side name="candidate" verdict={candidate} />
    </div>
  );
}

function Side({ name, verdict }: { name: string; verdict: RunVerdict }): ReactElement {
  const basis = verdict.basis && SOURCES[verdict.basis];
  return (
    <span className={classes.side}>
      <span className="muted">{name}</span>
      <OutcomeMark outcome={verdict.outcome} />
      {(verdict.reason || basis) && (
        <span className="muted">{[verdict.reason, basis].filter(Boolean).join(" · ")}</span>
      )}
    </span>
  );
}
