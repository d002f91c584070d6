import { useEffect, useRef, type ReactElement } from "react";
import type { SessionView, StepSummary } from "@/api/schema";
import { counted } from "@/components/format";
import { isOver, type StreamedText } from "./live";
import classes from "./LiveText.module.css";

interface Props {
  session: SessionView;
  streaming: StreamedText | null;
  steps: readonly StepSummary[];
}

/** What the model is saying at this moment; when it is over, the answer that came out. */
export function LiveText({ session, streaming, steps }: Props): ReactElement | null {
  const box = useRef<HTMLDivElement>(null);
  const length = streaming?.text.length;
  useEffect(() => {
    box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [length]);
  const answer = isOver(session) ? steps.findLast((step) => step.type === "output") : undefined;
  if (!streaming && !answer) return null;
  return (
    <section className="panel" aria-labelledby="live-text">
      <header className={classes.head}>
        <h2 id="live-text">{streaming ? `Model, step ${streaming.sequenceNo}` : "Answer"}</h2>
        {streaming && <span className={`chip simulated ${classes.chip}`}>live</span>}
      </header>
      {/* A screen reader hears the state of the replay, not every piece of text. */}
      <div ref={box} className={classes.text} tabIndex={0} role="log" aria-live="off" aria-labelledby="live-text">
        {streaming ? <Streamed streaming={streaming} /> : answer?.summary}
      </div>
    </section>
  );
}

function Streamed({ streaming }: { streaming: StreamedText }): ReactElement {
  return (
    <>
      {streaming.missing > 0 && <span className="muted">({counted(streaming.missing, "earlier character")}) </span>}
      {streaming.text}
      <span className={classes.caret} aria-hidden />
    </>
  );
}
