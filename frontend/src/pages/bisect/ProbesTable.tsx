import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ProbeView } from "@/api/schema";
import { EmptyState } from "@/ui/EmptyState";
import { count, money, pluralize } from "@/ui/format/numbers";
import { StateChip } from "@/features/labels/StateChip";
import { paths } from "@/app/paths";
import { VERDICT } from "./wording";
import list from "@/ui/ListPage.module.css";
import classes from "./Bisect.module.css";

/** All probes with their verdicts. Each is an ordinary replay. */
export function ProbesTable({ probes }: { probes: readonly ProbeView[] }): ReactElement {
  if (probes.length === 0) return <EmptyState title="No probes yet">The first probe starts in a moment.</EmptyState>;
  return (
    <div className={classes.scroll} tabIndex={0} role="group" aria-label="Probes, scrollable">
      <table className={list.table}>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">Verdict</th>
            <th scope="col">Answer</th>
            <th scope="col" className={list.figure}>
              Calls
            </th>
            <th scope="col" className={list.figure}>
              Cost
            </th>
            <th scope="col">Open</th>
          </tr>
        </thead>
        <tbody>
          {probes.map((probe) => (
            <Row key={probe.number} probe={probe} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ probe }: { probe: ProbeView }): ReactElement {
  const { title, mark } = VERDICT[probe.verdict];
  const failedChecks = probe.checks.filter(({ passed }) => !passed);
  const probeName = `probe ${probe.number}, from step ${probe.fork.sequence_no}`;
  return (
    <tr>
      <td className="num">
        step {probe.fork.sequence_no}
        <span className={list.sub}>
          sample {probe.sample}
          {probe.changed && ", with the changes"}
        </span>
      </td>
      <td>
        <StateChip mark={mark}>{title}</StateChip>
        {probe.assumed > 0 && (
          <span className={list.sub}>{pluralize(probe.assumed, "answer")} replaced by placeholders</span>
        )}
      </td>
      <td className={list.wide}>
        <span className={classes.answer}>{probe.answer || probe.note || "–"}</span>
        {failedChecks.length > 0 && (
          <span className={list.sub}>{failedChecks.map(({ detail }) => detail).join("; ")}</span>
        )}
        {probe.answer && probe.note && <span className={list.sub}>{probe.note}</span>}
      </td>
      <td className={list.figure}>{count(probe.live_calls)}</td>
      <td className={list.figure}>{money(probe.cost_usd)}</td>
      <td>
        <span className={classes.links}>
          <Link {...paths.replay(probe.session)} aria-label={`Replay of ${probeName}`}>
            replay
          </Link>
          {probe.diff && (
            <Link {...paths.diff(probe.diff)} aria-label={`Diff of ${probeName}`}>
              diff
            </Link>
          )}
        </span>
      </td>
    </tr>
  );
}
