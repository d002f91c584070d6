import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ProbeView } from "@/api/schema";
import { EmptyState } from "@/ui/EmptyState";
import { money, pluralize } from "@/ui/format/numbers";
import { StateChip } from "@/features/labels/StateChip";
import { paths } from "@/app/paths";
import { groupsOf, type ProbeGroup } from "./groups";
import { forkName, VERDICT } from "./wording";
import list from "@/ui/ListPage.module.css";
import classes from "./Bisect.module.css";

/** The replays with their verdicts and answers; equal ones from one step share a row. */
export function ReplaysTable({ probes }: { probes: readonly ProbeView[] }): ReactElement {
  if (probes.length === 0) return <EmptyState title="No replays yet">The first one starts in a moment.</EmptyState>;
  return (
    <div className={list.scroll} tabIndex={0} role="group" aria-label="Replays, scrollable">
      <table className={`${list.table} ${list.stacking}`}>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">Verdict</th>
            <th scope="col">Answer</th>
            <th scope="col" className={list.figure}>
              Cost
            </th>
            <th scope="col">Open</th>
          </tr>
        </thead>
        <tbody>
          {groupsOf(probes).map((group) => (
            <Row key={group.key} group={group} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ group: { first, probes } }: { group: ProbeGroup }): ReactElement {
  const { title, mark } = VERDICT[first.verdict];
  const failedChecks = first.checks.filter(({ passed }) => !passed);
  const placeholders = Math.max(...probes.map(({ assumed }) => assumed));
  return (
    <tr>
      <th scope="row" className="num">
        {forkName(first.fork)}
        {first.changed && <span className={list.sub}>with the changes</span>}
      </th>
      <td data-label="Verdict">
        <StateChip mark={mark}>{probes.length > 1 ? `${probes.length} × ${title}` : title}</StateChip>
        {placeholders > 0 && (
          <span className={list.sub}>{pluralize(placeholders, "answer")} replaced by placeholders</span>
        )}
      </td>
      <td data-label="Answer" className={list.wide}>
        <span className={classes.answer}>{first.answer || first.note || "–"}</span>
        {failedChecks.length > 0 && (
          <span className={list.sub}>{failedChecks.map(({ detail }) => detail).join("; ")}</span>
        )}
        {first.answer && first.note && <span className={list.sub}>{first.note}</span>}
      </td>
      <td data-label="Cost" className={list.figure}>
        {money(total(probes.map(({ cost_usd }) => cost_usd)))}
      </td>
      <td data-label="Open">
        <span className={classes.links}>
          {probes.map((probe, index) => (
            <ReplayLink key={probe.number} probe={probe} number={probes.length === 1 ? "" : ` ${index + 1}`} />
          ))}
        </span>
      </td>
    </tr>
  );
}

function ReplayLink({ probe, number }: { probe: ProbeView; number: string }): ReactElement {
  const target = probe.diff ? "diff" : "replay";
  return (
    <Link
      {...(probe.diff ? paths.diff(probe.diff) : paths.replay(probe.session))}
      aria-label={`Open the ${target} of replay ${probe.number}, from step ${probe.fork.sequence_no}`}
    >
      {target}
      {number}
    </Link>
  );
}

/** The sum of costs. Null if one is not known. */
function total(costs: readonly (number | null)[]): number | null {
  return costs.reduce<number | null>((sum, cost) => (sum === null || cost === null ? null : sum + cost), 0);
}
