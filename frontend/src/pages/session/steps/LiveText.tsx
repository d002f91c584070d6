import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, type ReactElement } from "react";
import { stepQuery } from "@/api/runs/runs";
import type { SessionView, StepSummary } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { answerText } from "../answers";
import { type StreamedText } from "../liveState";
import { hasEnded } from "@/domain/replays/status";
import classes from "./LiveText.module.css";

interface Props {
  session: SessionView;
  streaming: StreamedText | null;
  steps: readonly StepSummary[];
}

/** The current text of the model, then the final answer. */
export function LiveText({ session, streaming, steps }: Props): ReactElement | null {
  const box = useRef<HTMLDivElement>(null);
  const length = streaming?.text.length;
  useEffect(() => {
    box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [length]);
  const isFinished = hasEnded(session);
  const answer = isFinished ? steps.findLast((step) => step.type === "output") : undefined;
  if (isFinished ? !answer : session.live_calls === 0 && !streaming) return null;
  return (
    <section className="panel" aria-labelledby="live-text">
      <header className={classes.head}>
        <h2 id="live-text">{streaming ? `Model, step ${streaming.sequenceNo}` : isFinished ? "Answer" : "Model"}</h2>
        {streaming && <span className={`chip simulated ${classes.chip}`}>live</span>}
      </header>
      {/* Screen readers announce the state of the replay, not every piece of text. */}
      <div
        ref={box}
        className={isFinished ? classes.text : classes.live}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-labelledby="live-text"
      >
        {streaming && <StreamingText streaming={streaming} />}
        {!streaming && answer && <Answer step={answer} />}
        {!streaming && !answer && <span className="muted">The next live answer appears here as it is written.</span>}
      </div>
    </section>
  );
}

/** The full answer. Its summary is shown while it loads. */
function Answer({ step }: { step: StepSummary }): ReactElement {
  const { data } = useQuery(stepQuery(step.id));
  return <>{(data && answerText(data.output)) ?? step.summary}</>;
}

function StreamingText({ streaming }: { streaming: StreamedText }): ReactElement {
  return (
    <>
      {streaming.missingCharacters > 0 && (
        <span className="muted">({pluralize(streaming.missingCharacters, "earlier character")}) </span>
      )}
      {streaming.text}
      <span className={classes.caret} aria-hidden />
    </>
  );
}
