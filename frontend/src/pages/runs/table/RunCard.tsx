import { Checkbox } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useContext, type ReactElement } from "react";
import { duration, money } from "@/ui/format/numbers";
import { LabelBar } from "@/features/labels/LabelBar";
import { hasReplayLabels } from "@/domain/steps/labels";
import { startWords } from "@/domain/runs/startTime";
import { fullTitle } from "@/domain/runs/title";
import { outcomeNote } from "@/domain/runs/outcome";
import { AnswerLine } from "@/features/runs/AnswerLine";
import { ForkMark } from "@/features/runs/ForkName";
import { RunName } from "@/features/runs/RunName";
import { RunOutcome } from "@/features/runs/RunOutcome";
import { Tags } from "@/features/runs/Tags";
import { Marks } from "@/features/retention/Marks";
import { RunMenu } from "@/features/retention/RunMenu";
import { RevisionMark } from "@/features/runs/RevisionMark";
import { paths } from "@/app/paths";
import { ForkCount, ForksToggle } from "./NameCell";
import { RecordingState } from "./RecordingState";
import type { RowProps } from "./RunRow";
import { RunRows } from "./rowContext";
import { SearchHitLine } from "./SearchHitLine";
import classes from "./RunsTable.module.css";

/** A run on a phone. */
export function RunCard({ row, hit, isSelected, index, ...slot }: RowProps): ReactElement {
  const { actions, onToggle } = useContext(RunRows);
  const { run, family, depth } = row;
  return (
    <div {...slot} data-index={index} role="listitem" className={classes.slot}>
      <article className={classes.card} data-selected={isSelected} data-fork={depth > 0} data-last={row.isLast}>
        <div className={classes.cardHead}>
          <RunOutcome run={run} withWord />
          <span className={`muted grow ${classes.reason}`}>{outcomeNote(run)}</span>
          <span className="muted num">{startWords(run)}</span>
          <Checkbox
            size="sm"
            checked={isSelected}
            onChange={() => onToggle(run)}
            aria-label={`Select ${fullTitle(run)}`}
          />
          {actions && <RunMenu run={run} actions={actions} />}
        </div>
        <div className={classes.cardName}>
          {family && <ForksToggle row={row} />}
          {run.fork_sequence_no !== null && <ForkMark step={run.fork_sequence_no} />}
          <Link {...paths.run(run.id)} className={classes.link} dir="auto">
            <RunName run={run} withoutMark />
          </Link>
        </div>
        {(family || run.tags.length > 0 || run.is_pinned || run.is_held || run.revision > 1) && (
          <div className={classes.cardTags}>
            <Tags tags={run.tags} limit={3} />
            {family && <ForkCount family={family} />}
            <Marks run={run} />
            <RevisionMark revision={run.revision} />
          </div>
        )}
        <AnswerLine run={run} isBelowSource={depth === 1} />
        <div className={`muted num ${classes.facts}`}>
          <span className="grow">
            {hasReplayLabels(run.labels) ? <LabelBar counts={run.labels} /> : <RecordingState run={run} />}
          </span>
          <span>{duration(run.duration_ms)}</span>
          <span>{money(run.cost_usd)}</span>
        </div>
        {hit && <SearchHitLine hit={hit} />}
      </article>
    </div>
  );
}
