import { ActionIcon, Autocomplete, NumberInput, Select, Tooltip } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { JudgementName, OutcomeRuleView } from "@/api/schema";
import type { PartProps, ThresholdDraft } from "./draft";
import classes from "./Outcomes.module.css";

const SIDES = [
  { value: "at_least", label: "passes from" },
  { value: "at_most", label: "passes up to" },
];

/** The bounds at which scores pass. */
export function Thresholds({ draft, setDraft, names, current }: PartProps): ReactElement {
  const setThresholds = (thresholds: ThresholdDraft[]) => setDraft({ ...draft, thresholds });
  const scores = [...new Set(names.filter(({ kinds }) => kinds.includes("score")).map(({ name }) => name))];
  return (
    <ul className={classes.rows}>
      {draft.thresholds.map((threshold, index) => (
        <li key={index} className={classes.threshold} aria-label={`Bound ${index + 1}`}>
          <Autocomplete
            className={classes.name}
            aria-label="Score"
            placeholder="Name of the score"
            data={scores}
            value={threshold.name}
            onChange={(name) => setThresholds(draft.thresholds.with(index, { ...threshold, name }))}
          />
          <Select
            aria-label="Direction"
            data={SIDES}
            value={threshold.side}
            allowDeselect={false}
            onChange={(side) =>
              setThresholds(draft.thresholds.with(index, { ...threshold, side: side as ThresholdDraft["side"] }))
            }
          />
          <NumberInput
            aria-label="Bound"
            placeholder="0.7"
            value={threshold.value}
            hideControls
            onChange={(value) => setThresholds(draft.thresholds.with(index, { ...threshold, value }))}
          />
          <span className={`muted num ${classes.hint}`}>{rangeWords(names, threshold.name)}</span>
          <Tooltip label="Remove">
            <ActionIcon
              aria-label={`Remove bound ${index + 1}`}
              onClick={() => setThresholds(draft.thresholds.toSpliced(index, 1))}
            >
              <IconTrash size={15} />
            </ActionIcon>
          </Tooltip>
        </li>
      ))}
      <li className={classes.note}>{defaultWords(current.defaults)}</li>
    </ul>
  );
}

/** The range of the recorded scores with a name. */
function rangeWords(names: readonly JudgementName[], name: string): string {
  const score = names.find((entry) => entry.name === name && entry.lowest !== null);
  return score ? `recorded: ${score.lowest} to ${score.highest}` : "";
}

function defaultWords(defaults: OutcomeRuleView["defaults"]): string {
  const names = Object.keys(defaults).join(", ");
  return `By default, ${names} pass from 1. A bound here replaces the default.`;
}
