import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { RunDetail } from "@/api/schema";
import { paths } from "@/app/paths";
import { fullTitle, runTitle } from "@/domain/runs/title";
import { originOf } from "@/domain/runs/origin";
import { outcomeLook } from "@/domain/runs/outcome";
import { Marks } from "@/features/retention/Marks";
import { Tags } from "@/features/runs/Tags";
import { shortenMarkers } from "@/ui/format/markers";
import { RunJudgements } from "../judgements/RunJudgements";
import { RevisionMenu } from "./RevisionMenu";
import { RunActions, type ForkAction } from "./RunActions";
import { RunFacts } from "./RunFacts";
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
        <div className={classes.title}>
          <RunJudgements run={run} />
          <h1 title={fullTitle(run)} dir="auto">
            {shortenMarkers(runTitle(run))}
          </h1>
          {!run.sealed && outcomeLook(run) !== "running" && <span className="chip accent">still recording</span>}
        </div>
        {run.note && <p className={`muted ${classes.note}`}>{run.note}</p>}
        <RunFacts run={run}>
          <RevisionMenu run={run} />
          <Marks run={run} />
          <span className="chip">{originOf(run)}</span>
          <Tags tags={run.tags} limit={4} />
        </RunFacts>
      </div>
      <RunActions run={run} fork={fork} />
    </header>
  );
}
