import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { StepRef } from "@/api/schema";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { markOf, markWord } from "@/domain/steps/labels";
import { paths } from "@/app/paths";
import { useReport, type Side } from "./reportContext";
import classes from "./StepLink.module.css";

/** The number of a step on one side. A link if the reader can open runs. */
export function StepLink({ step, side }: { step: StepRef; side: Side }): ReactElement {
  const { report, hasLinks } = useReport();
  const mark = markOf(step);
  const content = (
    <>
      <LabelGlyph mark={mark} silent size={9} />
      <span className="num">
        {side} {step.sequence_no}
      </span>
    </>
  );
  const words = `${side} step ${step.sequence_no}, ${step.type} ${step.name}, ${markWord[mark]}`;
  if (!hasLinks) {
    return (
      <span className={classes.step} title={words}>
        {content}
      </span>
    );
  }
  return (
    <Link {...paths.run(report[side].id, { step: step.sequence_no })} className={classes.step} title={`Open ${words}`}>
      {content}
    </Link>
  );
}

/** The steps of an item on both sides, where present. */
export function BothSteps({ base, candidate }: { base: StepRef | null; candidate: StepRef | null }): ReactElement {
  return (
    <span className={classes.both}>
      {base && <StepLink step={base} side="base" />}
      {candidate && <StepLink step={candidate} side="candidate" />}
    </span>
  );
}
