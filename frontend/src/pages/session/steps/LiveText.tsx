import { useEffect, useRef, type ReactElement } from "react";
import type { SessionView } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { type StreamedText } from "@/features/replays/liveState";
import { hasEnded } from "@/domain/replays/status";
import classes from "./LiveText.module.css";

interface Props {
  session: SessionView;
  streaming: StreamedText | null;
}

/** The text that the model writes during the replay. */
export function LiveText({ session, streaming }: Props): ReactElement | null {
  const box = useRef<HTMLDivElement>(null);
  const length = streaming?.text.length;
  useEffect(() => {
    box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [length]);
  // The responses of an agent go to the agent itself.
  const isExpected = session.engine === "follow" && session.live_calls > 0;
  if (hasEnded(session) || (!isExpected && !streaming)) return null;
  return (
    <section className="panel" aria-labelledby="live-text">
      <header className={classes.head}>
        <h2 id="live-text">{streaming ? `Model, step ${streaming.sequenceNo}` : "Model"}</h2>
        {streaming && <span className={`chip simulated ${classes.chip}`}>live call</span>}
      </header>
      {/* Screen readers announce the state of the replay, not every piece of text. */}
      <div ref={box} className={classes.live} tabIndex={0} role="log" aria-live="off" aria-labelledby="live-text">
        {streaming ? (
          <StreamingText streaming={streaming} />
        ) : (
          <span className="muted">The next live answer appears here as it is written.</span>
        )}
      </div>
    </section>
  );
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
