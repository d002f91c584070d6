import { memo, type ReactElement } from "react";
import { isFailed, plannedMark, type PlanAction } from "@/domain/steps/labels";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { StepIcon } from "@/features/steps/StepIcon";
import { shortenMarkers } from "@/ui/format/markers";
import { duration } from "@/ui/format/numbers";
import paper from "@/ui/paper/Paper.module.css";
import { withText } from "@/ui/format/textSize";
import { actionWord } from "../stepPlans";
import type { Node } from "../steps/tree";
import { barOf, type Bar } from "./bars";
import type { TimeRange } from "./scale";
import classes from "./Timeline.module.css";

interface Props {
  node: Node;
  top: number;
  range: TimeRange;
  isSelected: boolean;
  forkHere: boolean;
  /** In the fork that is being edited. */
  action: PlanAction | null;
  onSelect: (sequenceNo: number) => void;
}

/** A step: its name, and a bar from its start to its end. */
export const TimelineRow = memo(function TimelineRow(props: Props): ReactElement {
  const { node, range, action, isSelected } = props;
  const { step } = node;
  const mark = plannedMark(step, action);
  const bar = barOf(step, range);
  return (
    <div
      id={`timeline-row-${step.sequence_no}`}
      role="option"
      aria-selected={isSelected}
      className={`${classes.row} ${paper.row}`}
      data-selected={isSelected}
      data-fork={props.forkHere}
      data-gone={action === "unreached"}
      style={{ transform: `translateY(${props.top}px)` }}
      onClick={() => props.onSelect(step.sequence_no)}
    >
      <span className={`${classes.name} ${isFailed(step.status) ? "failed" : ""}`}>
        <span className={classes.number}>{step.sequence_no}</span>
        <LabelGlyph mark={mark} word={action ? actionWord[action] : undefined} />
        <span className={classes.indent} style={{ width: withText(Math.min(node.depth, 8) * 10) }} />
        <StepIcon type={step.type} hasLabel />
        <span className="ellipsis">{shortenMarkers(step.name || step.type)}</span>
      </span>
      <span className={classes.lane}>
        {step.offset_ms === null && <em className={classes.missing}>no time recorded</em>}
        {bar && <StepBar bar={bar} mark={mark} words={durationWords(node)} />}
      </span>
    </div>
  );
});

function durationWords({ step }: Node): string {
  if (step.duration_ms !== null) return duration(step.duration_ms);
  return step.status === "running" ? "running" : "duration unknown";
}

/** The figure is beside the bar where there is room, else in it. */
function StepBar({ bar, mark, words }: { bar: Bar; mark: string; words: string }): ReactElement {
  const right = bar.left + bar.width;
  const side = right < 82 ? "after" : bar.left > 18 ? "before" : "within";
  return (
    <>
      <i
        className={classes.bar}
        data-mark={mark}
        data-before={bar.startsBefore}
        data-after={bar.endsAfter}
        style={{ left: `${bar.left}%`, width: `${bar.width}%` }}
      />
      <em
        className={`${classes.duration} num`}
        data-side={side}
        style={
          side === "before" ? { right: `${100 - bar.left}%` } : { left: `${side === "after" ? right : bar.left}%` }
        }
      >
        {words}
      </em>
    </>
  );
}
