import type { ReactElement } from "react";
import type { RunSummary } from "@/api/schema";
import { startTitle, startWords } from "@/domain/runs/startTime";
import { runTitle } from "@/domain/runs/title";
import { AnswerLine } from "@/features/runs/AnswerLine";
import { ForkName } from "@/features/runs/ForkName";
import { RunOutcome } from "@/features/runs/RunOutcome";
import { shortenMarkers } from "@/ui/format/markers";
import { pluralize } from "@/ui/format/numbers";
import classes from "./RunPicker.module.css";

interface Props {
  id: string;
  run: RunSummary;
  isActive: boolean;
  onChoose: () => void;
}

/** A run to choose: its outcome, its name or change, its answer, and when it started. */
export function RunOption({ id, run, isActive, onChoose }: Props): ReactElement {
  return (
    <div id={id} role="option" aria-selected={isActive} className={classes.run} onClick={onChoose}>
      <RunOutcome run={run} withWord />
      <span className={classes.name}>
        {run.fork_sequence_no === null ? (
          <b className="ellipsis" dir="auto">
            {shortenMarkers(runTitle(run)) || "Run without a name"}
          </b>
        ) : (
          <ForkName fork={run} step={run.fork_sequence_no} />
        )}
      </span>
      <time className="muted" dateTime={run.started_at ?? run.created_at} title={startTitle(run)}>
        {startWords(run)}
      </time>
      <span className={classes.details}>
        {run.fork_sequence_no !== null && run.change && <span className="muted">{shortenMarkers(run.name)}</span>}
        <AnswerLine run={run} />
        {!run.answer && <span className="muted">{[pluralize(run.steps, "step"), "no answer"].join(" · ")}</span>}
      </span>
    </div>
  );
}
