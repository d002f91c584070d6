import type { ReactElement } from "react";
import type { ProofPlan } from "@/api/schema";
import { count, pluralize } from "@/ui/format/numbers";
import { LazyDetails } from "@/ui/LazyDetails";
import { sentence } from "@/ui/format/text";
import classes from "./ProveDialog.module.css";

/** The changes that replays would test. */
export function testCount(plan: ProofPlan | undefined): number {
  return plan?.atoms.filter(({ testable, certificate }) => testable && !certificate).length ?? 0;
}

/** Why a proof cannot start, or what its replays cannot test. */
export function PlanRemarks({ plan, allowedCalls }: { plan: ProofPlan; allowedCalls: number }): ReactElement {
  if (plan.refusals.length > 0) {
    return (
      <>
        {plan.refusals.map((refusal) => (
          <p key={refusal.where + refusal.detail} className="failed" role="alert">
            {sentence(refusal.detail)}
          </p>
        ))}
      </>
    );
  }
  return (
    <>
      {!plan.differs && (
        <p className="muted">Both runs have the same outcome under this check, so there is nothing to prove.</p>
      )}
      {plan.live_calls > allowedCalls && (
        <p className="simulated">
          {allowedCalls === 0 ? "No live call is allowed" : `Only ${pluralize(allowedCalls, "live call")} allowed`}:
          tests that the recordings cannot answer stay open.
        </p>
      )}
      {plan.warnings.map((line) => (
        <p key={line} className="muted">
          {sentence(line)}
        </p>
      ))}
      <Missing texts={plan.missing} />
    </>
  );
}

/** More lines than this are collapsed: one missing provider concerns every step of a long run. */
const VISIBLE_LIMIT = 3;

/** Why some tests stay open, whatever is paid. */
function Missing({ texts }: { texts: readonly string[] }): ReactElement {
  const lines = texts.map((line) => (
    <p key={line} className="muted">
      {sentence(line)}
    </p>
  ));
  if (texts.length <= VISIBLE_LIMIT) return <>{lines}</>;
  return (
    <>
      {lines[0]}
      <LazyDetails className={classes.advanced} summary={`${count(texts.length - 1)} more reasons`}>
        <div className={classes.lines}>{lines.slice(1)}</div>
      </LazyDetails>
    </>
  );
}

/** What would be compared, and in how many replays. */
export function PlanFacts({ plan }: { plan: ProofPlan }): ReactElement {
  const certificates = plan.atoms.filter(({ certificate }) => certificate).length;
  return (
    <dl className={`${classes.facts} num`}>
      <dt>Base</dt>
      <dd>{plan.base_outcome}</dd>
      <dt>Candidate</dt>
      <dd>{plan.candidate_outcome}</dd>
      <dt>Changes to test</dt>
      <dd>
        {count(testCount(plan))}
        {certificates > 0 && <span className="muted"> and {count(certificates)} ruled out</span>}
      </dd>
      <dt>Replays</dt>
      <dd>
        about {count(plan.probes)}
        {plan.repeats > 0 && <span className="muted"> and {pluralize(plan.repeats, "repeat")} to rule out chance</span>}
      </dd>
      {plan.agent_starts > 0 && (
        <>
          <dt>Starts of the agent</dt>
          <dd>up to {count(plan.agent_starts)}</dd>
        </>
      )}
    </dl>
  );
}
