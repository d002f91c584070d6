import type { ReactElement } from "react";
import type { BisectPlan } from "@/api/schema";
import { count, pluralize, money } from "@/ui/format/numbers";
import { sentence } from "@/ui/format/text";
import classes from "./BisectDialog.module.css";

/** What a bisection would try and cost, or why it cannot start. */
export function BisectPlanSummary({ plan }: { plan: BisectPlan }): ReactElement {
  if (plan.refusals.length > 0) {
    return (
      <ul className={classes.refusals} role="alert">
        {plan.refusals.map(({ detail }) => (
          <li key={detail} className="failed">
            {sentence(detail)}
          </li>
        ))}
      </ul>
    );
  }
  return (
    <dl className={classes.facts}>
      <dt>Steps to fork from</dt>
      <dd>{pluralize(plan.forks.length, "step")}</dd>
      <dt>Replays</dt>
      <dd>{rangeWords(count(plan.probes), count(plan.most_probes))}</dd>
      {plan.most_agent_starts > 0 && (
        <>
          <dt>Starts of the agent</dt>
          <dd>{rangeWords(count(plan.agent_starts), count(plan.most_agent_starts))}</dd>
        </>
      )}
      <dt>Live calls</dt>
      <dd>{rangeWords(count(plan.live_calls), count(plan.most_live_calls))}</dd>
      <dt>Cost</dt>
      <dd>{priceWords(plan)}</dd>
    </dl>
  );
}

function priceWords({ cost_usd: cost, most_cost_usd: most }: BisectPlan): string {
  if (cost === null) return "unknown";
  return most === null ? `about ${money(cost)}, maximum unknown` : rangeWords(money(cost), money(most));
}

/** An estimate and its maximum, once if they are equal. */
const rangeWords = (estimate: string, most: string) =>
  estimate === most ? `up to ${most}` : `about ${estimate}, max. ${most}`;
