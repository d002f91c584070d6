import type { ReactElement } from "react";
import type { Evidence, Findings, Mediator } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { StepLink } from "../StepLink";
import { AtomTable } from "./AtomTable";
import { CheapestExperimentPanel } from "./CheapestExperimentPanel";
import { ProbeTable } from "./ProbeTable";
import { chanceSentence, costSentence, interactionWords, verdictOf } from "./wording";
import classes from "./FindingsView.module.css";

/** The conclusion of a proof in one line, with everything that it rests on folded below. */
export function FindingsView({ findings }: { findings: Findings | Evidence }): ReactElement {
  return (
    <div className={classes.findings}>
      <Conclusion findings={findings} />
      {findings.cheapest_experiment && (
        <div className={classes.next}>
          <b>Next test</b> <CheapestExperimentPanel findings={findings} cheapest={findings.cheapest_experiment} />
        </div>
      )}
      <details className={classes.more}>
        <summary>Changes, replays and assumptions</summary>
        <Grounds findings={findings} />
      </details>
    </div>
  );
}

function Conclusion({ findings }: { findings: Findings }): ReactElement {
  const scope = findings.scope === "over repeats" ? `over ${pluralize(findings.repeats, "repeat")}` : "in this run";
  return (
    <div className={classes.conclusion}>
      <div className="bar">
        <h3>{verdictOf(findings)}</h3>
        <span className="chip">{scope}</span>
        {findings.stopped && (
          <span className="chip simulated">
            {findings.stopped === "budget" ? "stopped at its budget" : "stopped by you"}
          </span>
        )}
      </div>
      <p className="muted">{findings.rule}</p>
    </div>
  );
}

function Grounds({ findings }: { findings: Findings }): ReactElement {
  const features = findings.features.filter((feature) => feature !== findings.question.text);
  return (
    <div className={classes.findings}>
      <p>{findings.conclusion}</p>
      <AtomTable findings={findings} />
      {findings.interactions.length > 0 && <Interactions findings={findings} />}
      {findings.mediators.length > 0 && <Mediators mediators={findings.mediators} />}
      <dl className={classes.grounds}>
        <dt>Chance</dt>
        <dd>{chanceSentence(findings.noise)}</dd>
        <dt>Question</dt>
        <dd>
          {findings.question.text}
          {features.length > 0 && <span className="muted"> ({features.join(", ")})</span>}
        </dd>
        <dt>Effort</dt>
        <dd className="num">{costSentence(findings)}</dd>
      </dl>
      <ProbeTable findings={findings} />
      {findings.assumptions.length > 0 && (
        <section aria-label="Assumptions">
          <h3 className={classes.title}>Assumptions</h3>
          <ul>
            {findings.assumptions.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function Interactions({ findings }: { findings: Findings }): ReactElement {
  const titles = new Map(findings.atoms.map(({ id, title }) => [id, title]));
  return (
    <section aria-label="Interaction of the changes">
      <h3 className={classes.title}>Interaction of the changes</h3>
      <ul className={classes.interactions}>
        {findings.interactions.map((pair) => {
          const { sentence, figure } = interactionWords(pair, titles);
          return (
            <li key={sentence}>
              <span className="grow">{sentence}</span>
              <span
                className="chip num"
                title="Shapley interaction: zero if neither change affects what the other does."
              >
                {figure}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

const ROLES: Record<Mediator["role"], string> = {
  entry: "entry point",
  between: "in between",
  commitment: "decision point",
};

function Mediators({ mediators }: { mediators: readonly Mediator[] }): ReactElement {
  return (
    <section aria-label="Steps that carried the effect">
      <h3 className={classes.title}>How it reached the answer</h3>
      <ol className={classes.mediators}>
        {mediators.map((mediator) => (
          <li key={mediator.step.id}>
            <StepLink step={mediator.step} side="candidate" />
            <span className="grow">
              <b>{ROLES[mediator.role]}</b> <span className="muted">{mediator.text}</span>
            </span>
            <span
              className={mediator.evidence === "tested" ? "chip exact" : "chip"}
              title={
                mediator.evidence === "tested"
                  ? "With the base's answer at this step, the old outcome returns."
                  : "Known from the recorded data flow."
              }
            >
              {mediator.evidence}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
