import type { ReactElement, ReactNode } from "react";
import { answerPreviews } from "@/domain/steps/preview";
import { LongText } from "@/ui/TextView";
import classes from "./AnswerPair.module.css";

// About three lines of half a page.
const ANSWER_LIMIT = 260;

export interface AnswerSide {
  /** For screen readers. */
  label: string;
  name: ReactNode;
  outcome: ReactNode;
  /** Why the run has its outcome. */
  reason?: string | undefined;
  /** Null: the run has no final answer. Undefined: it is not shown. */
  text: string | null | undefined;
}

/** Two final answers side by side, each with the outcome of its run. */
export function AnswerPair({ sides }: { sides: readonly [AnswerSide, AnswerSide] }): ReactElement {
  const previews = answerPreviews(sides[0].text ?? "", sides[1].text ?? "");
  return (
    <div className={classes.answers}>
      {sides.map(({ label, name, outcome, reason, text }, index) => (
        <div key={label} role="group" aria-label={label}>
          <header>
            {outcome}
            <span className={classes.name}>{name}</span>
          </header>
          {reason && <p className="muted">{reason}</p>}
          {text === null && <p className="muted">No final answer</p>}
          {text && (
            <p className={classes.answer} dir="auto">
              <LongText text={previews[index] ?? text} limit={ANSWER_LIMIT} quotes="“”" />
            </p>
          )}
        </div>
      ))}
    </div>
  );
}
