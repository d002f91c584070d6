import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import {
  IconArrowsDiff,
  IconCheck,
  IconClock,
  IconExclamationMark,
  IconQuestionMark,
  IconX,
} from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { CellView, ExperimentRowView } from "@/api/schema";
import { paths } from "@/app/paths";
import { score } from "@/domain/diffs/score";
import { useVisit } from "@/features/share/visit";
import { duration, money, tokens } from "@/ui/format/numbers";
import { sentence } from "@/ui/format/text";
import { answerCounts, sampleState, type SampleState } from "./samples";
import { intervalText, percent, remarks } from "./figures";
import classes from "./CellPanel.module.css";

const MAX_ANSWERS = 4;

interface Props {
  name: string;
  cell: CellView;
  rows: readonly ExperimentRowView[];
  isBest: boolean;
}

/** One combination: each of its replays, the answers they gave, and their means. */
export function CellPanel({ name, cell, rows, isBest }: Props): ReactElement {
  const answers = answerCounts(rows);
  const reasons = [...new Set(rows.map(({ unverified }) => unverified).filter(Boolean))];
  const notes = remarks(cell);
  const firstRow = rows.find(({ diff }) => diff !== null);
  return (
    <section className={`panel ${classes.panel}`} aria-label="Combination">
      <h2 className={classes.title}>{name}</h2>
      <div>
        {cell.pass_rate !== null && (
          <p className={classes.rate}>
            <b>{percent(cell.pass_rate)}</b> {isBest && <span className="chip">Best</span>}
          </p>
        )}
        {cell.pass_rate !== null && (
          <p className="muted num">
            {cell.passed} of {cell.verdicts} passed · {intervalText(cell)}
          </p>
        )}
        {notes.length > 0 && <p className="muted num">{notes.join(" · ")}</p>}
      </div>
      <ul className={classes.samples} aria-label="Replays">
        {rows.map((row) => (
          <li key={row.number}>
            <Sample row={row} />
          </li>
        ))}
      </ul>
      {reasons.map((reason) => (
        <p key={reason} className="muted">
          {sentence(`unverified: ${reason}`)}
        </p>
      ))}
      {answers.length > 0 && (
        <ul className={classes.answers} aria-label="Answers">
          {answers.slice(0, MAX_ANSWERS).map(({ text, rowCount }) => (
            <li key={text}>
              <b className="num">{rowCount}</b>
              <span title={text}>“{text.slice(0, 200)}”</span>
            </li>
          ))}
          {answers.length > MAX_ANSWERS && <li className="muted">and {answers.length - MAX_ANSWERS} other answers</li>}
        </ul>
      )}
      <dl className={classes.facts}>
        <dt>Cost of a replay</dt>
        <dd>{cell.cost_usd ? money(cell.cost_usd.mean) : "unknown"}</dd>
        <dt>Latency</dt>
        <dd>{duration(cell.latency_ms?.mean ?? null)}</dd>
        <dt>Tokens</dt>
        <dd>{tokens(cell.tokens && Math.round(cell.tokens.mean))}</dd>
        <dt>Answer similarity</dt>
        <dd>{cell.output_similarity ? score(cell.output_similarity.mean) : "–"}</dd>
      </dl>
      {firstRow?.diff && <DiffButton diff={firstRow.diff} />}
    </section>
  );
}

function DiffButton({ diff }: { diff: string }): ReactElement {
  return (
    <Button
      variant="default"
      leftSection={<IconArrowsDiff size={15} />}
      renderRoot={(props) => <Link {...paths.diff(diff)} {...props} />}
    >
      Diff against the source
    </Button>
  );
}

const SHAPES = {
  passed: IconCheck,
  "not passed": IconX,
  unverified: IconQuestionMark,
  failed: IconExclamationMark,
  done: null,
  cancelled: IconX,
  "not finished": IconClock,
} satisfies Record<SampleState, unknown>;

/** A replay as a square that opens its diff against the source, or the replay itself; on a shared page, nothing. */
function Sample({ row }: { row: ExperimentRowView }): ReactElement {
  const state = sampleState(row);
  const Shape = SHAPES[state];
  const visit = useVisit();
  // A tick would look like a check that passed.
  const content = Shape ? <Shape size={11} stroke={3} aria-hidden /> : row.sample;
  const result = `Sample ${row.sample}: ${state}`;
  if (visit)
    return (
      <span role="img" className={classes.sample} data-state={state} aria-label={result} title={result}>
        {content}
      </span>
    );
  const name = `${result}, open its ${row.diff ? "diff" : "replay"}`;
  return (
    <Link
      {...(row.diff ? paths.diff(row.diff) : paths.replay(row.session))}
      className={classes.sample}
      data-state={state}
      aria-label={name}
      title={name}
    >
      {content}
    </Link>
  );
}
