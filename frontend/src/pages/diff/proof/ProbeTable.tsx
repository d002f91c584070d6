import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Findings, ProbeEvidence } from "@/api/schema";
import { counted, money } from "@/components/format";
import { LabelGlyph } from "@/components/LabelGlyph";
import { paths } from "@/paths";
import { useReport } from "../report";
import { OUTCOMES, PURPOSES } from "./words";
import classes from "./AtomTable.module.css";

/** Every replay of a proof: what it ran, what came out, what it took. */
export function ProbeTable({ findings }: { findings: Findings }): ReactElement {
  const titles = new Map(findings.atoms.map(({ id, title }) => [id, title]));
  return (
    <div className={classes.scroll} tabIndex={0} role="group" aria-label="Replays of the proof">
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">No.</th>
            <th scope="col">Replayed</th>
            <th scope="col">Came out</th>
            <th scope="col">Took</th>
          </tr>
        </thead>
        <tbody>
          {findings.probes.map((probe) => (
            <tr key={probe.number}>
              <td className="num">{probe.number}</td>
              <th scope="row">
                {replayed(probe, titles)}
                <span className={classes.note}>{PURPOSES[probe.purpose]}</span>
              </th>
              <td>
                <Outcome probe={probe} />
              </td>
              <td className="num">
                <Took probe={probe} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What the probe was, as one sentence. */
function replayed(probe: ProbeEvidence, titles: ReadonlyMap<string, string>): string {
  const names = probe.applied.map((id) => titles.get(id) ?? id).join(", ");
  const run = probe.side === "base" ? (names ? `The base with: ${names}` : "The base") : candidate(names);
  const clamped = probe.clamped === null ? "" : `, step ${probe.clamped} answering as in the base`;
  const repeats = probe.repeats > 1 ? `, ${probe.repeats} times` : "";
  return run + clamped + repeats;
}

function candidate(names: string): string {
  return names ? `The candidate with only: ${names}` : "The candidate without any change";
}

function Outcome({ probe }: { probe: ProbeEvidence }): ReactElement {
  const { words, mark } = OUTCOMES[probe.outcome];
  return (
    <>
      <span className={classes.tested}>
        <LabelGlyph mark={mark} silent size={9} />
        {words}
      </span>
      {(probe.missing || probe.said) && <span className={classes.note}>{probe.missing || probe.said}</span>}
    </>
  );
}

function Took({ probe }: { probe: ProbeEvidence }): ReactElement {
  const { linked } = useReport();
  const live = probe.live_calls === 0 ? "free" : `${counted(probe.live_calls, "live call")}, ${money(probe.cost_usd)}`;
  return (
    <>
      {counted(probe.executed_steps, "step")}, {live}
      {linked && probe.run && (
        <>
          {" "}
          <Link {...paths.run(probe.run)}>its run</Link>
        </>
      )}
    </>
  );
}
