import { IconArrowRight } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { RunSummary } from "@/api/schema";
import { answerEffect } from "@/domain/runs/answers";
import { withoutMarkdown } from "@/ui/format/markdown";
import { shortenMarkers } from "@/ui/format/markers";
import classes from "./AnswerLine.module.css";

interface Props {
  run: Pick<RunSummary, "answer" | "source_answer">;
  /** The answer of the source is shown nearby. */
  isBelowSource?: boolean;
}

const preview = (answer: string) => withoutMarkdown(shortenMarkers(answer));

/** The answer of a run in one line; that of a fork after the answer of its source. Nothing without an answer. */
export function AnswerLine({ run, isBelowSource = false }: Props): ReactElement | null {
  const { isSame, before, after } = answerEffect(run);
  if (!before && !after) return null;
  const answer = preview(isBelowSource ? run.answer : after) || "no answer";
  return (
    <span className={classes.line} title={preview(run.answer)}>
      {isSame && <span className={classes.same}>same answer</span>}
      {before && !isBelowSource && (
        <>
          <span className={classes.before} dir="auto">
            {preview(before)}
          </span>
          <IconArrowRight size={12} aria-label="became" role="img" className={classes.arrow} />
        </>
      )}
      <span className={classes.after} dir="auto">
        {answer}
      </span>
    </span>
  );
}
