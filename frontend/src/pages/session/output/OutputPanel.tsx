import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, type ReactElement } from "react";
import { outputQuery } from "@/api/replays/runners";
import type { OutputView, SessionView } from "@/api/schema";
import { paths } from "@/app/paths";
import { hasEnded, waitsForRunner } from "@/domain/replays/status";
import { failureWords } from "@/ui/failure/failure";
import classes from "./OutputPanel.module.css";

interface Props {
  session: SessionView;
  /** Number of the live message that announced the last lines. */
  outputSeq: number;
}

/** Distance from the end in pixels at which the panel still follows new lines. */
const FOLLOW_PX = 40;

/** What the agent prints while it runs, and how it ended. */
export function OutputPanel({ session, outputSeq }: Props): ReactElement | null {
  const revision = `${outputSeq} ${session.status} ${session.exit_code}`;
  const { data, error } = useQuery({ ...outputQuery(session.id, revision), enabled: session.engine === "agent" });
  if (session.engine !== "agent") return null;
  return (
    <section className="panel" aria-labelledby="output">
      <header className={classes.head}>
        <h2 id="output">Output</h2>
        {session.runner && <span className="muted ellipsis">on {session.runner}</span>}
        <span className="grow" />
        <ExitCode session={session} />
      </header>
      {error && <p className={`failed ${classes.none}`}>The output could not be loaded. {failureWords(error)}</p>}
      {waitsForRunner(session) && (
        <p className={classes.none}>
          Start the runner again where the agent is installed, or another one of its app.{" "}
          <Link {...paths.runners()} className={classes.link}>
            Show runners
          </Link>
        </p>
      )}
      {data && data.lines.length > 0 ? (
        <Lines output={data} />
      ) : (
        !error && (
          <p className={`muted ${classes.none}`}>
            {hasEnded(session) ? "The agent printed nothing." : "What the agent prints appears here."}
          </p>
        )
      )}
    </section>
  );
}

function ExitCode({ session }: { session: SessionView }): ReactElement | null {
  const { exit_code: code } = session;
  if (code === null) return null;
  return <span className={`chip num ${code === 0 ? "exact" : "failed"}`}>exit code {code}</span>;
}

function Lines({ output }: { output: OutputView }): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const count = output.lines.length;
  useEffect(() => {
    if (isAtEnd.current) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [count]);
  const onScroll = () => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < FOLLOW_PX;
  };
  return (
    // Screen readers announce the state of the replay, not every line.
    <div
      ref={box}
      className={classes.lines}
      onScroll={onScroll}
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-labelledby="output"
    >
      {output.truncated && <div className="muted">Earlier lines are not stored.</div>}
      {output.lines.map(({ stream, text }, index) => (
        <div key={index} className={classes[stream]}>
          {stream === "stderr" && <span className={classes.stream}>stderr </span>}
          {text || "\u00a0"}
        </div>
      ))}
    </div>
  );
}
