import { Tooltip } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import type { RunDetail } from "@/api/schema";
import { startTitle, startWords } from "@/domain/runs/startTime";
import { hasReplayLabels } from "@/domain/steps/labels";
import { LabelBar } from "@/features/labels/LabelBar";
import { pluralize, duration, money } from "@/ui/format/numbers";
import { Tokens } from "./RunExtras";
import classes from "../RunPage.module.css";

/** Key figures of a run. `children` follow them. */
export function RunFacts({ run, children }: { run: RunDetail; children?: ReactNode }): ReactElement {
  return (
    <div className={`${classes.facts} num`}>
      {hasReplayLabels(run.labels) && (
        <span className={classes.labels}>
          <LabelBar counts={run.labels} height={8} />
        </span>
      )}
      <span>{pluralize(run.steps, "step")}</span>
      {run.errors > 0 && <b className="failed">{pluralize(run.errors, "error")}</b>}
      {run.duration_ms !== null && <span>{duration(run.duration_ms)}</span>}
      {run.tokens_in + run.tokens_out > 0 && <Tokens run={run} />}
      <span>{run.cost_usd === null ? "cost unknown" : money(run.cost_usd)}</span>
      <Tooltip label={startTitle(run)}>
        <span>{startWords(run)}</span>
      </Tooltip>
      {children}
    </div>
  );
}
