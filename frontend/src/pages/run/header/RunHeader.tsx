import { Tooltip } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { RunDetail } from "@/api/schema";
import { timeAgo, pluralize, duration, fullTime, money } from "@/ui/format/numbers";
import { LabelBar } from "@/features/labels/LabelBar";
import { hasReplayLabels } from "@/domain/steps/labels";
import { paths } from "@/app/paths";
import { fullTitle, runTitle } from "@/domain/runs/title";
import { originOf } from "@/domain/runs/origin";
import { Marks } from "@/features/retention/Marks";
import { shortenMarkers } from "@/ui/format/markers";
import { RunJudgements } from "../judgements/RunJudgements";
import { Tokens } from "./RunExtras";
import { RevisionMenu } from "./RevisionMenu";
import { RunActions, type ForkAction } from "./RunActions";
import classes from "../RunPage.module.css";

/** Breadcrumb, key figures and actions of a run. */
export function RunHeader({ run, fork }: { run: RunDetail; fork?: ForkAction }): ReactElement {
  return (
    <header className={classes.header}>
      <div className={classes.naming}>
        <nav className={classes.crumbs} aria-label="Breadcrumb">
          <Link {...paths.runs()}>Runs</Link>
          <span aria-hidden>/</span>
          <Link {...paths.runs({ app: run.app })}>{run.app}</Link>
          {run.environment && (
            <>
              <span aria-hidden>/</span>
              <Link {...paths.runs({ app: run.app, environment: run.environment })}>{run.environment}</Link>
            </>
          )}
        </nav>
        <div className="bar">
          <RunJudgements run={run} />
          <h1 className="ellipsis" title={fullTitle(run)}>
            {shortenMarkers(runTitle(run))}
          </h1>
          <Marks run={run} />
          <span className={`chip ${classes.origin}`}>{originOf(run)}</span>
          {!run.sealed && <span className="chip simulated">still recording</span>}
        </div>
        {run.note && <p className={`muted ${classes.note}`}>{run.note}</p>}
        <Facts run={run} />
      </div>
      <RunActions run={run} fork={fork} />
    </header>
  );
}

function Facts({ run }: { run: RunDetail }): ReactElement {
  return (
    <div className={`${classes.facts} num`}>
      {hasReplayLabels(run.labels) && (
        <span className={classes.labels}>
          <LabelBar counts={run.labels} height={8} />
        </span>
      )}
      <RevisionMenu run={run} />
      <span>{pluralize(run.steps, "step")}</span>
      {run.errors > 0 && <b className="failed">{pluralize(run.errors, "error")}</b>}
      {run.duration_ms !== null && <span>{duration(run.duration_ms)}</span>}
      {run.tokens_in + run.tokens_out > 0 && <Tokens run={run} />}
      <span>{run.cost_usd === null ? "cost unknown" : money(run.cost_usd)}</span>
      <Tooltip label={fullTime(run.started_at ?? run.created_at)}>
        <span>{timeAgo(run.started_at ?? run.created_at)}</span>
      </Tooltip>
    </div>
  );
}
