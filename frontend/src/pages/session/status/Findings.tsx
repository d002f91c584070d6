import { UnstyledButton } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { SessionView } from "@/api/schema";
import { pluralize, fullTime } from "@/ui/format/numbers";
import { RunLink } from "@/features/share/RunLink";
import classes from "./Findings.module.css";

/** The error, deviations from the plan, and recorded calls that were no longer made. */
export function Findings({ session }: { session: SessionView }): ReactElement | null {
  const { error, error_code: code, divergences, unused_calls: unusedCalls, takeovers } = session;
  if (!error && !code && divergences.length === 0 && unusedCalls.length === 0 && takeovers.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="findings">
      <header className={classes.head}>
        <h2 id="findings">Findings</h2>
      </header>
      <div className={classes.body}>
        {(error || code) && <Failure session={session} />}
        {takeovers.length > 0 && (
          <div>
            <h3>{session.engine === "agent" ? "Resumed after an interruption" : "Taken over by another worker"}</h3>
            <Lines lines={takeovers.map(takeoverWords)} />
          </div>
        )}
        {divergences.length > 0 && (
          <div>
            <h3>Differs from the plan</h3>
            <Lines lines={divergences} />
          </div>
        )}
        {unusedCalls.length > 0 && (
          <div>
            <h3>
              {pluralize(unusedCalls.length, `recorded ${session.engine === "agent" ? "model" : "tool"} call`)} no
              longer made
            </h3>
            <p className={classes.unused}>
              {unusedCalls.map((step) => (
                <RunLink key={step} run={session.source_run} step={step} className="chip">
                  source step {step}
                </RunLink>
              ))}
            </p>
          </div>
        )}
      </div>
    </section>
  );
}

/** Where a replay resumed, and how many incomplete steps were discarded. */
function takeoverWords({ at, kept_to: keptTo, taken_back: takenBack }: SessionView["takeovers"][number]): string {
  const lossWords =
    takenBack === 0 ? "no steps were discarded" : `${pluralize(takenBack, "step")} after it were discarded`;
  return `${fullTime(at)}: resumed after step ${keptTo}; ${lossWords}.`;
}

/** Lines to show at first. */
const VISIBLE_LIMIT = 6;

function Lines({ lines }: { lines: readonly string[] }): ReactElement {
  const [showAll, setShowAll] = useState(false);
  const hiddenCount = lines.length - VISIBLE_LIMIT;
  return (
    <ul className={classes.list}>
      {(showAll ? lines : lines.slice(0, VISIBLE_LIMIT)).map((line) => (
        <li key={line}>{line}</li>
      ))}
      {!showAll && hiddenCount > 0 && (
        <li>
          <UnstyledButton className={classes.more} onClick={() => setShowAll(true)}>
            {hiddenCount} more
          </UnstyledButton>
        </li>
      )}
    </ul>
  );
}

function Failure({ session }: { session: SessionView }): ReactElement {
  const step = session.error_sequence_no;
  return (
    <div className={classes.failure} role="alert">
      <code>{session.error_code}</code>
      <p>{session.error}</p>
      {step !== null && (
        <RunLink run={session.run ?? session.source_run} step={step}>
          {session.run ? "step" : "source step"} {step}
        </RunLink>
      )}
    </div>
  );
}
