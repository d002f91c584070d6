import { Loader, VisuallyHidden } from "@mantine/core";
import { IconAlertTriangle, IconClock, IconHandStop } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { ConnectionState as Connection } from "@/api/live";
import type { AttemptView, SessionView, StepSummary } from "@/api/schema";
import { count, money } from "@/ui/format/numbers";
import { LabelBar } from "@/features/labels/LabelBar";
import { sentence } from "@/ui/format/text";
import { hasEnded, statusWords, type Tone } from "@/domain/replays/status";
import { headline } from "./headline";
import { gauge, progress, type Gauge } from "./progress";
import { Result } from "./Result";
import { waitingAttempt, secondsUntilRetry } from "../calls/callAttempts";
import { useNow } from "../useNow";
import classes from "./Status.module.css";

interface Props {
  session: SessionView;
  steps: readonly StepSummary[];
  connection: Connection;
  attempts: readonly AttemptView[];
}

/** The state of the replay: what it did, or what it is doing; labels so far, and budget used. */
export function Status({ session, steps, connection, attempts }: Props): ReactElement {
  const words = statusWords(session);
  const isFinished = hasEnded(session);
  const isComplete = session.status.startsWith("completed");
  return (
    <section className={`panel ${classes.status}`} aria-label="State of the replay">
      <div className={classes.top}>
        <div className={classes.state} role="status">
          {isComplete && <VisuallyHidden>Done.</VisuallyHidden>}
          <StateIcon tone={words.tone} />
          <div className={classes.words}>
            <h2 className={classes.headline}>{headline(session)}</h2>
            {!isComplete && (
              <span className="muted">
                {isFinished ? (
                  sentence(session.error || words.detail)
                ) : (
                  <CurrentActivity session={session} attempts={attempts} />
                )}
              </span>
            )}
            {!isFinished && connection === "waiting" && (
              <span className={classes.lost}>Connection lost. Reconnecting…</span>
            )}
          </div>
        </div>
        <div className={classes.gauges}>
          <Meter gauge={progress(session)} show={count} />
          <Meter
            gauge={gauge("Live calls", session.live_calls, session.policy.budget.max_live_calls)}
            show={count}
            budget
          />
          <Cost session={session} />
        </div>
      </div>
      {isFinished && <Result session={session} steps={steps} />}
      <div className={classes.labels} title={isComplete ? words.detail : undefined}>
        <LabelBar counts={session.counts} height={8} />
        <Legend session={session} />
      </div>
    </section>
  );
}

function CurrentActivity({
  session,
  attempts,
}: {
  session: SessionView;
  attempts: readonly AttemptView[];
}): ReactElement {
  // The form has the question.
  if (session.question) return <>Answer the question to go on.</>;
  const waitingCall = waitingAttempt(attempts);
  if (waitingCall) return <Countdown attempt={waitingCall} />;
  return <>{sentence(session.current || statusWords(session).detail)}</>;
}

function Countdown({ attempt }: { attempt: AttemptView }): ReactElement {
  const seconds = secondsUntilRetry(attempt, useNow()) ?? 0;
  const wait = seconds > 0 ? `in ${seconds} s` : "now";
  return (
    <>
      Step {attempt.sequence_no}: attempt {attempt.attempt} failed, retrying {wait}
    </>
  );
}

function StateIcon({ tone }: { tone: Tone }): ReactElement | null {
  const props = { size: 22, stroke: 1.7, "aria-hidden": true, className: classes[tone] };
  switch (tone) {
    case "active":
      return <Loader size={18} className={classes.spinner} aria-hidden />;
    case "done":
      return null;
    case "waiting":
      return <IconHandStop {...props} />;
    case "failed":
      return <IconAlertTriangle {...props} />;
    case "neutral":
      return <IconClock {...props} />;
    default:
      return tone satisfies never;
  }
}

function Legend({ session }: { session: SessionView }): ReactElement {
  const { counts } = session;
  return (
    <ul className={`${classes.legend} num`}>
      {(["exact", "cached", "simulated"] as const).map((label) => (
        <li key={label} className={counts[label] > 0 ? label : "muted"}>
          {counts[label]} {label}
        </li>
      ))}
    </ul>
  );
}

function Cost({ session }: { session: SessionView }): ReactElement {
  const limit = session.policy.budget.max_cost_usd;
  if (session.cost_usd !== null) return <Meter gauge={gauge("Cost", session.cost_usd, limit)} show={money} budget />;
  return <Meter gauge={gauge("Cost", 0, limit)} show={money} unknown={session.live_calls > 0} budget />;
}

interface MeterProps {
  gauge: Gauge;
  show: (value: number) => string;
  unknown?: boolean;
  /** A limit that ends the replay. */
  budget?: boolean;
}

function Meter(props: MeterProps): ReactElement {
  const { label, value, limit, share } = props.gauge;
  const words = props.unknown ? "unknown" : props.show(value);
  return (
    <div className={classes.meter}>
      <span className="muted">{label}</span>
      <span className="num">
        <b>{words}</b>
        {limit !== null && <span className="muted"> of {props.show(limit)}</span>}
      </span>
      {share !== null && (
        <div
          className={classes.track}
          role="progressbar"
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(share * 100)}
          aria-valuetext={`${words} of ${limit === null ? "no limit" : props.show(limit)}`}
        >
          <i style={{ width: `${share * 100}%` }} data-tight={props.budget === true && share >= 0.9} />
        </div>
      )}
    </div>
  );
}
