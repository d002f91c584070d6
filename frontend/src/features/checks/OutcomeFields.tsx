import { Autocomplete, NumberInput, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { judgementNamesQuery } from "@/api/outcomes";
import type { CheckDraft } from "@/domain/checks/draft";
import type { JudgementDraft } from "@/domain/checks/passQuestion";
import { ChecksEditor } from "./ChecksEditor";
import classes from "./OutcomeFields.module.css";

const SIDES = [
  { value: "at_least", label: "passes from" },
  { value: "at_most", label: "passes up to" },
];

interface Props {
  question: "outcome" | "judgement";
  choice: JudgementDraft;
  onChoice: (choice: JudgementDraft) => void;
  checks: readonly CheckDraft[];
  onChecks: (checks: CheckDraft[]) => void;
}

/** The judgement that decides, and the checks that stand in for what a replay cannot produce. */
export function OutcomeFields({ question, choice, onChoice, checks, onChecks }: Props): ReactElement {
  const { data } = useQuery(judgementNamesQuery());
  const names = [...new Set(data?.names.map(({ name }) => name) ?? [])];
  return (
    <div className={classes.fields}>
      {question === "judgement" && (
        <div className={classes.choice}>
          <Autocomplete
            label="Judgement"
            placeholder="reward"
            data={names}
            value={choice.judgement}
            onChange={(judgement) => onChoice({ ...choice, judgement })}
          />
          <Select
            label="If it is a score"
            data={SIDES}
            value={choice.side}
            allowDeselect={false}
            onChange={(side) => onChoice({ ...choice, side: side as JudgementDraft["side"] })}
          />
          <NumberInput
            label="Bound"
            placeholder="as the app's rule"
            value={choice.limit}
            hideControls
            onChange={(limit) => onChoice({ ...choice, limit })}
          />
        </div>
      )}
      <p className="muted">
        A replay is judged by the validators that run in it and by these checks. It cannot reproduce a person's
        judgement or an imported score: a check with that name stands in for it, and must agree with it on the
        recordings.
      </p>
      <ChecksEditor checks={checks} onChange={onChecks} names={names} />
    </div>
  );
}
