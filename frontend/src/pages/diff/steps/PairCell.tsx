import type { ReactElement } from "react";
import type { AlignedPair, StepRef } from "@/api/schema";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { markOf, markWord, reasonSentence } from "@/domain/steps/labels";
import { stepPreview } from "@/domain/steps/preview";
import type { Side } from "../reportContext";
import classes from "./PairCell.module.css";

/** One side of a row: label, number, type and summary of a step. */
export function PairCell(props: { step: StepRef | null; side: Side; relation: AlignedPair["relation"] }): ReactElement {
  const { step, side, relation } = props;
  if (!step) return <span className={classes.empty} data-relation={relation} />;
  const mark = markOf(step);
  return (
    <span className={classes.cell} data-relation={relation} data-side={side}>
      <LabelGlyph mark={mark} silent />
      <span className={`${classes.number} num`}>{step.sequence_no}</span>
      <span className={classes.type}>{step.type}</span>
      <span className={classes.summary}>{stepPreview(step)}</span>
      {side === "candidate" && step.label !== "live" && relation !== "same" && (
        <span className={`chip ${mark} ${classes.label}`} title={step.reason ? reasonSentence(step.reason) : undefined}>
          {markWord[mark]}
        </span>
      )}
    </span>
  );
}
