import { ActionIcon, Autocomplete, Select, Tooltip } from "@mantine/core";
import { IconArrowUp, IconTrash } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { DeciderView, JudgementName } from "@/api/schema";
import { DECIDERS, movedUp, type PartProps } from "./draft";
import classes from "./Outcomes.module.css";

const SOURCES = Object.entries(DECIDERS).map(([value, { label }]) => ({ value, label }));

/** The judgements that decide, in order. */
export function Deciders({ draft, setDraft, names }: PartProps): ReactElement {
  const setDeciders = (deciders: DeciderView[]) => setDraft({ ...draft, deciders });
  return (
    <ol className={classes.rows}>
      {draft.deciders.map((decider, index) => (
        <li key={index} className={classes.decider} aria-label={`Source ${index + 1}`}>
          <span className={`num muted ${classes.place}`}>{index + 1}</span>
          <Select
            aria-label="Source"
            data={SOURCES}
            value={decider.source}
            allowDeselect={false}
            onChange={(source) =>
              setDeciders(draft.deciders.with(index, { ...decider, source: source as DeciderView["source"] }))
            }
          />
          <Autocomplete
            className={classes.name}
            aria-label="Name"
            placeholder="any name"
            data={namesOf(names, decider.source)}
            value={decider.name}
            onChange={(name) => setDeciders(draft.deciders.with(index, { ...decider, name }))}
          />
          <span className={`muted ${classes.hint}`}>{DECIDERS[decider.source].hint}</span>
          <span className={classes.tools}>
            <Tooltip label="Move up">
              <ActionIcon
                aria-label={`Move source ${index + 1} up`}
                disabled={index === 0}
                onClick={() => setDeciders(movedUp(draft.deciders, index))}
              >
                <IconArrowUp size={15} />
              </ActionIcon>
            </Tooltip>
            <Tooltip label="Remove">
              <ActionIcon
                aria-label={`Remove source ${index + 1}`}
                onClick={() => setDeciders(draft.deciders.toSpliced(index, 1))}
              >
                <IconTrash size={15} />
              </ActionIcon>
            </Tooltip>
          </span>
        </li>
      ))}
    </ol>
  );
}

/** The names of an app's judgements from a group of sources. */
function namesOf(names: readonly JudgementName[], group: DeciderView["source"]): string[] {
  const isOfGroup = (source: JudgementName["source"]) =>
    group === "check" ? !["person", "import", "tag"].includes(source) : source === group;
  return [...new Set(names.filter(({ source }) => isOfGroup(source)).map(({ name }) => name))];
}
