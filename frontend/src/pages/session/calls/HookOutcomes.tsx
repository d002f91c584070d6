import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { outcomesQuery } from "@/api/tools/hooks";
import type { HookOutcomeView, SessionView } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { paths } from "@/app/paths";
import { outcomeWords } from "./hooks";
import classes from "./Attempts.module.css";

/** Decisions and failures of hooks in this replay. */
export function HookOutcomes({ session }: { session: SessionView }): ReactElement | null {
  const { data } = useQuery(outcomesQuery(session.id, session.resolved_steps));
  if (!data || data.outcomes.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="hook-outcomes">
      <header className={classes.head}>
        <h2 id="hook-outcomes">Hooks</h2>
        <span className="muted num">
          {data.next === null ? pluralize(data.outcomes.length, "decision") : `first ${data.outcomes.length} decisions`}
        </span>
      </header>
      <ol className={classes.calls}>
        {data.outcomes.map((outcome) => (
          <Outcome key={`${outcome.sequence_no} ${outcome.event}`} outcome={outcome} run={session.run} />
        ))}
      </ol>
    </section>
  );
}

function Outcome({ outcome, run }: { outcome: HookOutcomeView; run: string | null }): ReactElement {
  const words = outcomeWords(outcome);
  const step = outcome.sequence_no;
  return (
    <li>
      <span className={classes.step}>
        {step > 0 && run ? <Link {...paths.run(run, { step })}>step {step}</Link> : step > 0 ? `step ${step}` : "start"}
        <span className={classes.event}>{outcome.event.replaceAll("_", " ")}</span>
      </span>
      <div>
        {outcome.hook && (
          <>
            <b>{outcome.hook}</b> <span className={words.tone === "plain" ? "" : words.tone}>{words.action}</span>
            {outcome.tool_name && <span className="muted"> of {outcome.tool_name}</span>}
            {words.message && <code className={classes.text}>{words.message}</code>}
            {words.request && (
              <span className={classes.request}>
                requested with <code>{words.request}</code>
              </span>
            )}
          </>
        )}
        {outcome.failures.map(({ hook, error }) => (
          <span key={hook} className={classes.error}>
            {hook} failed: {error}
          </span>
        ))}
      </div>
    </li>
  );
}
