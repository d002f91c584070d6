import { IconChevronRight } from "@tabler/icons-react";
import { memo, type ReactElement } from "react";
import { count, duration } from "@/ui/format/numbers";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { isFailed, plannedMark, type PlanAction } from "@/domain/steps/labels";
import { CommentCount } from "@/features/comments/CommentCount";
import { stepPreview } from "@/domain/steps/preview";
import { StepIcon } from "@/features/steps/StepIcon";
import { shortenMarkers } from "@/ui/format/markers";
import paper from "@/ui/paper/Paper.module.css";
import { withText } from "@/ui/format/textSize";
import { actionWord } from "../stepPlans";
import classes from "./Steps.module.css";
import { waterfall, type Node } from "./tree";

interface Props {
  node: Node;
  top: number;
  depth: number;
  spanMs: number;
  isFolded: boolean;
  isSelected: boolean;
  forkHere: boolean;
  /** In the fork that is being edited. */
  action: PlanAction | null;
  onSelect: (sequenceNo: number) => void;
  onToggle: (sequenceNo: number) => void;
}

export const StepRow = memo(function StepRow(props: Props): ReactElement {
  const { node, action, isSelected } = props;
  const { step } = node;
  const mark = plannedMark(step, action);
  const bar = waterfall(step, props.spanMs);
  const failed = isFailed(step.status);
  const title = shortenMarkers(step.name || step.type);
  // A tool's summary starts with its name, which is already shown.
  const text = stepPreview({ ...step, name: "" });
  const summary = text.startsWith(title) ? text.slice(title.length) : text;
  return (
    <div
      id={`step-row-${step.sequence_no}`}
      role="treeitem"
      aria-level={node.depth + 1}
      aria-selected={isSelected}
      aria-expanded={node.children.length > 0 ? !props.isFolded : undefined}
      className={`${classes.row} ${paper.row}`}
      data-selected={isSelected}
      data-timed={props.spanMs > 0}
      data-failed={failed}
      data-fork={props.forkHere}
      data-gone={action === "unreached"}
      style={{ transform: `translateY(${props.top}px)` }}
      onClick={() => props.onSelect(step.sequence_no)}
    >
      <span className={classes.number}>{step.sequence_no}</span>
      <LabelGlyph mark={mark} word={action ? actionWord[action] : undefined} />
      <span className={classes.title} style={{ paddingLeft: withText(Math.min(props.depth, 8) * 12) }}>
        {node.children.length > 0 ? (
          <span
            className={classes.twist}
            data-open={!props.isFolded}
            onClick={(event) => {
              event.stopPropagation();
              props.onToggle(step.sequence_no);
            }}
          >
            <IconChevronRight size={12} />
          </span>
        ) : (
          <span className={classes.twist} />
        )}
        <StepIcon type={step.type} hasLabel />
        <span className={classes.name}>{title}</span>
        <small dir="auto">{summary}</small>
        <CommentCount step={step.sequence_no} />
      </span>
      {props.isFolded && node.size > 0 ? (
        <span className={`${classes.rolled} num`}>
          {count(node.size)} inside
          {node.failed > 0 && <b className="failed"> · {count(node.failed)} ✕</b>}
        </span>
      ) : (
        props.spanMs > 0 && (
          <span className={classes.time} aria-hidden>
            {bar && <i data-mark={failed ? "failed" : mark} style={{ left: `${bar.left}%`, width: `${bar.width}%` }} />}
          </span>
        )
      )}
      {props.spanMs > 0 && (
        <span className={`${classes.duration} num`}>{step.duration_ms === null ? "" : duration(step.duration_ms)}</span>
      )}
    </div>
  );
});
