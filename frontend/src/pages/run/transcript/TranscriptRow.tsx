import { IconGitFork } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { memo, useCallback, useState, type MouseEvent, type ReactElement } from "react";
import { wholeTurnsQuery } from "@/api/runs/transcripts";
import type { StepSummary, TranscriptStep } from "@/api/schema";
import { isFailed, markOf, markWord, plannedMark, type PlanAction } from "@/domain/steps/labels";
import { CommentCount } from "@/features/comments/CommentCount";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { count, duration, pluralize, tokens } from "@/ui/format/numbers";
import type { StepPlan } from "../stepPlans";
import type { TranscriptRow as Row } from "./rows";
import { isSilent, StepTurns } from "./StepTurns";
import classes from "./Transcript.module.css";
import { IncomingTurn, ShowAll } from "./TurnView";

interface Props {
  run: string;
  row: Row;
  turns: TranscriptStep | undefined;
  position: number;
  total: number;
  isSelected: boolean;
  forkHere: boolean;
  /** In the fork that is being edited. */
  action: PlanAction | null;
  plan: StepPlan | null;
  onSelect: (sequenceNo: number) => void;
}

/** The messages that a step received, then what it says. Each is a link to the step. */
export const TranscriptRow = memo(function TranscriptRow(props: Props): ReactElement {
  const { run, row, isSelected, forkHere, plan, onSelect } = props;
  const number = row.step.sequence_no;
  const [isWhole, setWhole] = useState(false);
  const whole = useQuery({ ...wholeTurnsQuery(run, number), enabled: isWhole });
  const turns = whole.data?.steps.find((step) => step.sequence_no === number) ?? props.turns;
  const showAll = useCallback(() => setWhole(true), []);
  const select = (event: MouseEvent<HTMLElement>) => {
    if (!isOwnClick(event)) return;
    onSelect(number);
  };
  const hasInput = row.part === "step" || row.part === "input";
  return (
    <ShowAll value={showAll}>
      <article
        aria-label={`Step ${number}, ${row.step.type} ${row.step.name}`}
        aria-posinset={props.position}
        aria-setsize={props.total}
        aria-current={isSelected ? "step" : undefined}
        onClick={select}
      >
        {hasInput && turns && <Incoming turns={turns} />}
        {forkHere && row.part !== "output" && row.part !== "failure" && <ForkLine isEdited={plan !== null} />}
        <div
          className={classes.row}
          hidden={isSilent(row, turns)}
          data-selected={isSelected}
          data-gone={props.action === "unreached"}
          data-last={props.position === props.total}
        >
          <a
            className={classes.number}
            href={`?step=${number}`}
            aria-label={`Step ${number}`}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey) return;
              event.preventDefault();
              onSelect(number);
            }}
          >
            {number}
          </a>
          <span className={classes.mark}>
            <LabelGlyph mark={markOf(row.step)} />
          </span>
          <div className={classes.body}>
            {/* Its output is a turn of its own, above the steps inside it. */}
            <StepTurns row={row} turns={row.part === "input" && turns ? { ...turns, content: null } : turns} />
          </div>
          {row.part === "step" && <Meta step={row.step} action={props.action} plan={plan} />}
        </div>
      </article>
    </ShowAll>
  );
});

/** Whether a click is meant for the row: not for a control in it, nor the end of selecting text. */
function isOwnClick(event: MouseEvent<HTMLElement>): boolean {
  const control = event.target instanceof HTMLElement && event.target.closest("a, button, [tabindex='0']");
  return (!control || control.contains(event.currentTarget)) && window.getSelection()?.isCollapsed !== false;
}

function Incoming({ turns }: { turns: TranscriptStep }): ReactElement {
  return (
    <>
      {turns.incoming.map((turn, index) => (
        <IncomingTurn key={index} turn={turn} />
      ))}
      {turns.more_incoming > 0 && (
        <p className={`${classes.incoming} ${classes.remark}`}>
          {pluralize(turns.more_incoming, "more message")}. The step shows all of its messages.
        </p>
      )}
    </>
  );
}

function ForkLine({ isEdited }: { isEdited: boolean }): ReactElement {
  return (
    <div className={classes.forkLine}>
      <IconGitFork size={14} aria-hidden /> {isEdited ? "Fork here · what follows is replayed" : "Forked here"}
    </div>
  );
}

function Meta(props: { step: StepSummary; action: PlanAction | null; plan: StepPlan | null }): ReactElement {
  const { step, action, plan } = props;
  const hasTokens = step.tokens_in !== null || step.tokens_out !== null;
  const mark = action && plannedMark(step, action);
  const label = mark ?? (step.label === "live" ? null : step.label);
  return (
    <div className={`${classes.meta} num`}>
      <CommentCount step={step.sequence_no} />
      {hasTokens && (
        <span className={classes.tokens} title="Tokens in → out">
          {tokens(step.tokens_in)} → {tokens(step.tokens_out)} tokens
        </span>
      )}
      {step.retries > 0 && <span>{count(step.retries)}× retried</span>}
      {step.duration_ms !== null && <span>{duration(step.duration_ms)}</span>}
      {label && !(mark === null && isFailed(step.status)) && (
        <span className={`${classes.label} ${label}`}>
          <LabelGlyph mark={label} silent />{" "}
          {plan?.reason === "assumed_unaffected" ? "assumed unaffected" : markWord[label]}
        </span>
      )}
    </div>
  );
}
