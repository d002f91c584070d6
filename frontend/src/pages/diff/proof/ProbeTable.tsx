import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Findings, ProbeEvidence } from "@/api/schema";
import { pluralize, money } from "@/ui/format/numbers";
import { paths } from "@/app/paths";
import { useReport } from "../reportContext";
import { OUTCOMES, PURPOSES, probeWords } from "./wording";
import classes from "./AtomTable.module.css";

/** All replays of a proof with outcome and cost. */
export function ProbeTable({ findings }: { findings: Findings }): ReactElement {
  const titles = new Map(findings.atoms.map(({ id, title }) => [id, title]));
  const allChanges = new Set(
    findings.atoms.filter((atom) => atom.testable && atom.parent === null).map(({ id }) => id),
  );
  return (
    <div className={classes.scroll} tabIndex={0} role="group" aria-label="Replays of the proof">
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">No.</th>
            <th scope="col">Replayed</th>
            <th scope="col">Outcome</th>
            <th scope="col">Cost</th>
          </tr>
        </thead>
        <tbody>
          {findings.probes.map((probe) => (
            <tr key={probe.number}>
              <td className="num">{probe.number}</td>
              <th scope="row">
                {probeWords(probe, titles, allChanges)}
                <span className={classes.note}>{PURPOSES[probe.purpose]}</span>
              </th>
              <td>
                <Outcome probe={probe} />
              </td>
              <td className="num">
                <ProbeSource probe={probe} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Outcome({ probe }: { probe: ProbeEvidence }): ReactElement {
  if (probe.repeats > 1) {
    return (
      <>
        {probe.said}
        {probe.missing && <span className={classes.note}>{probe.missing}</span>}
      </>
    );
  }
  return (
    <>
      {OUTCOMES[probe.outcome]}
      {(probe.missing || probe.said) && <span className={classes.note}>{probe.missing || probe.said}</span>}
    </>
  );
}

function ProbeSource({ probe }: { probe: ProbeEvidence }): ReactElement {
  const { hasLinks } = useReport();
  const cost = probe.cost_usd === null ? "cost unknown" : money(probe.cost_usd);
  const live = probe.live_calls === 0 ? "free" : `${pluralize(probe.live_calls, "live call")}, ${cost}`;
  return (
    <>
      {pluralize(probe.executed_steps, "step")}, {live}
      {hasLinks && probe.run && (
        <>
          {" "}
          <Link {...paths.run(probe.run)}>run</Link>
        </>
      )}
    </>
  );
}
