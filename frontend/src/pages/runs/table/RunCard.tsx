import { Checkbox } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useContext, type ReactElement } from "react";
import type { RunSummary, SearchHit } from "@/api/schema";
import { timeAgo, pluralize, duration, money, tokens } from "@/ui/format/numbers";
import { LabelBar } from "@/features/labels/LabelBar";
import { hasReplayLabels } from "@/domain/steps/labels";
import { fullTitle } from "@/domain/runs/title";
import { RunName } from "@/features/runs/RunName";
import { OutcomeWord, RunOutcome } from "@/features/runs/RunOutcome";
import { Marks } from "@/features/retention/Marks";
import { RunMenu } from "@/features/retention/RunMenu";
import { RevisionMark } from "@/features/runs/RevisionMark";
import { paths } from "@/app/paths";
import { SearchHitLine } from "./SearchHitLine";
import { RunRows } from "./columns";
import classes from "./RunsTable.module.css";

/** A run on a phone. */
export function RunCard(props: {
  run: RunSummary;
  hit: SearchHit | undefined;
  isSelected: boolean;
  onToggle: (id: string) => void;
}): ReactElement {
  const { run } = props;
  const { actions } = useContext(RunRows);
  return (
    <article className={`panel ${classes.card}`} data-selected={props.isSelected}>
      <div className="bar">
        <RunOutcome run={run} />
        <Link {...paths.run(run.id)} className={`${classes.link} ${classes.wide}`}>
          <RunName run={run} />
        </Link>
        <Marks run={run} />
        <RevisionMark revision={run.revision} />
        <Checkbox
          size="sm"
          checked={props.isSelected}
          onChange={() => props.onToggle(run.id)}
          aria-label={`Select ${fullTitle(run)}`}
        />
        {actions && <RunMenu run={run} actions={actions} />}
      </div>
      <div className={`muted num ${classes.facts}`}>
        <OutcomeWord run={run} />
        <span className="ellipsis">{run.app}</span>
        <span>{timeAgo(run.started_at ?? run.created_at)}</span>
        <span>{pluralize(run.steps, "step")}</span>
        {run.errors > 0 && <b className="failed">{pluralize(run.errors, "error")}</b>}
      </div>
      <div className={`num ${classes.facts}`}>
        {run.duration_ms !== null && <span>{duration(run.duration_ms)}</span>}
        {run.tokens_in + run.tokens_out > 0 && <span>{tokens(run.tokens_in + run.tokens_out)} tokens</span>}
        {run.cost_usd !== null && <span>{money(run.cost_usd)}</span>}
        <span className="grow">{hasReplayLabels(run.labels) && <LabelBar counts={run.labels} />}</span>
      </div>
      {props.hit && <SearchHitLine hit={props.hit} />}
    </article>
  );
}
