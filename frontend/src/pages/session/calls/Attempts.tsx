import { IconCheck, IconLoader2, IconX } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { AttemptView } from "@/api/schema";
import { pluralize, duration } from "@/ui/format/numbers";
import { attemptsByCall, secondsUntilRetry } from "./callAttempts";
import { useNow } from "../useNow";
import classes from "./Attempts.module.css";

/** Live calls by attempt, with the delay before the next one. */
export function Attempts({ attempts }: { attempts: readonly AttemptView[] }): ReactElement | null {
  if (attempts.length === 0) return null;
  const calls = attemptsByCall(attempts);
  return (
    <section className="panel" aria-labelledby="attempts">
      <header className={classes.head}>
        <h2 id="attempts">Live calls</h2>
        <span className="muted num">
          {pluralize(calls.length, "call")}, {pluralize(attempts.length, "attempt")}
        </span>
      </header>
      <ol className={classes.calls}>
        {calls.map((call) => (
          <li key={call[0]?.id}>
            <span className={classes.step}>
              step {call[0]?.sequence_no} <span className="muted">{call[0]?.kind}</span>
            </span>
            <ol className={classes.tries}>
              {call.map((attempt, index) => (
                <AttemptRow key={attempt.id} attempt={attempt} isLast={index === call.length - 1} />
              ))}
            </ol>
          </li>
        ))}
      </ol>
    </section>
  );
}

function AttemptRow({ attempt, isLast }: { attempt: AttemptView; isLast: boolean }): ReactElement {
  return (
    <li className={classes[attempt.status]}>
      <Outcome status={attempt.status} />
      <span>
        attempt {attempt.attempt} {WORDS[attempt.status]}
        {attempt.duration_ms !== null && <span className="muted num"> after {duration(attempt.duration_ms)}</span>}
        {attempt.error && <span className={classes.error}>{attempt.error}</span>}
        {isLast && attempt.status === "failed" && attempt.retry_at !== null && <NextTry attempt={attempt} />}
      </span>
    </li>
  );
}

const WORDS: Record<AttemptView["status"], string> = { intended: "under way", succeeded: "answered", failed: "failed" };

function NextTry({ attempt }: { attempt: AttemptView }): ReactElement {
  const seconds = secondsUntilRetry(attempt, useNow()) ?? 0;
  return <span className="muted num"> Next attempt {seconds > 0 ? `in ${seconds} s` : "now"}.</span>;
}

function Outcome({ status }: { status: AttemptView["status"] }): ReactElement {
  const props = { size: 14, stroke: 2, "aria-hidden": true };
  switch (status) {
    case "intended":
      return <IconLoader2 {...props} className={classes.turning} />;
    case "succeeded":
      return <IconCheck {...props} className="exact" />;
    case "failed":
      return <IconX {...props} className="failed" />;
    default:
      return status satisfies never;
  }
}
