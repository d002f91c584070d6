import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { policiesQuery, profilesQuery } from "@/api/replays/savedProfiles";
import type { JsonValue, Override, SessionView, StepSummary } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { assumedSteps, reasonSentence } from "@/domain/steps/labels";
import { LongText } from "@/ui/TextView";
import { describeOverride, valueText } from "@/domain/overrides/details";
import { ChangedText } from "./ChangedText";
import classes from "./Plan.module.css";

/** The changes of this replay. */
export function Plan({ session }: { session: SessionView }): ReactElement {
  return (
    <section className="panel" aria-labelledby="changes">
      <header className={classes.head}>
        <h2 id="changes">Changes in this replay</h2>
        <Names session={session} />
      </header>
      <div className={classes.body}>
        <Overrides session={session} />
      </div>
    </section>
  );
}

/** How the replay was planned: its type, its determinism and its policy. */
export function PlanFacts({ session, steps }: { session: SessionView; steps: readonly StepSummary[] }): ReactElement {
  const { determinism } = session;
  const assumedCount = assumedSteps(steps);
  return (
    <dl className={`${classes.facts} num`}>
      <dt>Replay type</dt>
      <dd>{TYPES[session.replay_type]}</dd>
      <dt>Determinism</dt>
      <dd>
        {determinism.score === null ? "unknown" : determinism.score.toFixed(2)}
        {determinism.critical_changes.length > 0 && (
          <span className="muted"> · {determinism.critical_changes.join(", ")}</span>
        )}
      </dd>
      {assumedCount > 0 && (
        <>
          <dt>Assumed unaffected</dt>
          <dd title={reasonSentence("assumed_unaffected")}>{pluralize(assumedCount, "step")}</dd>
        </>
      )}
      <dt>Live calls allowed</dt>
      <dd>{session.policy.allow.join(", ") || "none"}</dd>
      <dt>If no answer is available</dt>
      <dd>{session.policy.fallback === "simulate" ? "use a placeholder" : "fail the replay"}</dd>
    </dl>
  );
}

/** Names of the saved profile and policy that the replay uses. */
function Names({ session }: { session: SessionView }): ReactElement {
  const { data: profiles } = useQuery(profilesQuery);
  const { data: policies } = useQuery(policiesQuery);
  const profile = profiles?.profiles.find(({ digest }) => digest === session.overrides_digest)?.names[0];
  const policy = policies?.policies.find(({ digest }) => digest === session.policy_digest)?.names[0];
  return (
    <>
      {profile && <span className="chip accent">profile {profile}</span>}
      {policy && <span className="chip">policy {policy}</span>}
    </>
  );
}

const TYPES = {
  A: "A: same configuration, resolved again and compared",
  B: "B: model, provider, tool schemas or prompt changed, or the determinism score is too low",
};

function unchangedWords({ policy, engine }: SessionView): string {
  if (policy.order === "reexecute") return "No changes: every model call gets a new answer.";
  const subject = engine === "agent" ? "the agent gets the recorded answers" : "the recording is replayed as it is";
  return `No changes: ${subject}.`;
}

function Overrides({ session }: { session: SessionView }): ReactElement {
  const { overrides } = session.overrides;
  if (overrides.length === 0) return <p className={classes.none}>{unchangedWords(session)}</p>;
  return (
    <ul className={classes.overrides}>
      {overrides.map((override, index) => {
        const words = describeOverride(override);
        const changedValue = comparableValue(override);
        return (
          <li key={index}>
            <span className="muted">{words.scope}</span>
            {words.sets.map(({ name, value }) => (
              <div key={name}>
                <b>{name}</b>{" "}
                {changedValue != null && valueText(changedValue) === value ? (
                  <ChangedText session={session} override={override} value={changedValue} />
                ) : (
                  value && <LongText text={value} limit={240} />
                )}
              </div>
            ))}
          </li>
        );
      })}
    </ul>
  );
}

/** The new value that can be compared with the recorded one, if there is just one. */
function comparableValue({
  prompt,
  tool,
  output,
  retrieval,
  arguments: newArguments,
}: Override): JsonValue | undefined {
  const values = [prompt?.system, tool?.output, output, retrieval?.documents, newArguments];
  const changes = values.filter((value) => value != null);
  return changes.length === 1 ? changes[0] : undefined;
}
