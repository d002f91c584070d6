import { Checkbox, VisuallyHidden } from "@mantine/core";
import type { ReactElement } from "react";
import { Link } from "@tanstack/react-router";
import type { CalibrationView, Collision, IgnoreRule, Proposal } from "@/api/schema";
import list from "@/ui/ListPage.module.css";
import { StateChip } from "@/features/labels/StateChip";
import { paths } from "@/app/paths";
import classes from "./Calibration.module.css";
import { caveat, kindWords, ruleWords, sameRule } from "./rules";

interface Props {
  calibration: CalibrationView;
  currentRules: readonly IgnoreRule[];
  selection: readonly number[];
  onChoose: (places: number[]) => void;
}

/** Proposed fields with examples, the matches gained, and false matches. */
export function ProposalsTable({ calibration, currentRules, selection, onChoose }: Props): ReactElement {
  const toggle = (place: number) =>
    onChoose(selection.includes(place) ? selection.filter((item) => item !== place) : [...selection, place]);
  return (
    <div className={list.scroll}>
      <table className={`${list.table} ${classes.table}`}>
        <thead>
          <tr>
            <th scope="col">
              <VisuallyHidden>Ignore</VisuallyHidden>
            </th>
            <th scope="col">Field</th>
            <th scope="col">For example</th>
            <th scope="col" className={list.figure}>
              Matches gained
            </th>
            <th scope="col">False matches</th>
          </tr>
        </thead>
        <tbody>
          {calibration.proposals.map((proposal, place) => (
            <Row
              key={proposal.rule.type + proposal.rule.name + proposal.rule.pointer + (proposal.rule.within ?? "")}
              proposal={proposal}
              calibration={calibration}
              isIgnored={currentRules.some((rule) => sameRule(rule, proposal.rule))}
              isChosen={selection.includes(place)}
              onToggle={() => toggle(place)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  proposal: Proposal;
  calibration: CalibrationView;
  isIgnored: boolean;
  isChosen: boolean;
  onToggle: () => void;
}

function Row({ proposal, calibration, isIgnored, isChosen, onToggle }: RowProps): ReactElement {
  const { rule, examples, collisions } = proposal;
  const reason = caveat(proposal);
  const [example] = examples;
  return (
    <tr>
      <td data-label="Ignore">
        <Checkbox
          checked={isIgnored || isChosen}
          disabled={isIgnored}
          aria-label={`Ignore ${rule.pointer} of ${ruleWords(rule)}`}
          onChange={onToggle}
        />
      </td>
      <th scope="row">
        <code className={classes.pointer}>{rule.pointer}</code>
        <span className={list.sub}>
          {ruleWords(rule)} · {kindWords[proposal.kind] ?? proposal.kind}
        </span>
        {isIgnored ? (
          <StateChip mark="exact">ignored</StateChip>
        ) : (
          reason && <StateChip mark="simulated">{reason}</StateChip>
        )}
      </th>
      <td data-label="For example">
        {example && (
          <span className={classes.example}>
            <code>{example.base}</code> <span aria-label="versus">→</span> <code>{example.candidate}</code>
          </span>
        )}
      </td>
      <td
        data-label="Matches gained"
        className={list.figure}
        title={`Of ${proposal.pairs} pairs of calls that differ in this field, ${proposal.unifies} match when it and the recommended fields are ignored.`}
      >
        {proposal.unifies} <span className="muted">of {proposal.pairs}</span>
      </td>
      <td data-label="False matches">
        {collisions.length === 0 ? (
          <span className="muted">none</span>
        ) : (
          collisions
            .slice(0, 3)
            .map((collision) => (
              <CollisionExample
                key={collision.side + collision.steps.join()}
                collision={collision}
                calibration={calibration}
              />
            ))
        )}
      </td>
    </tr>
  );
}

/** Different calls of one recording that would become equal. */
function CollisionExample({
  collision,
  calibration,
}: {
  collision: Collision;
  calibration: CalibrationView;
}): ReactElement {
  const run = collision.side === "base" ? calibration.base : calibration.candidate;
  return (
    <div>
      {collision.name}, step{" "}
      {collision.steps.slice(0, 4).map((step, index) => (
        <span key={step}>
          {index > 0 && ", "}
          <Link {...paths.run(run, { step })}>{step}</Link>
        </span>
      ))}
      {collision.steps.length > 4 && " …"}
    </div>
  );
}
