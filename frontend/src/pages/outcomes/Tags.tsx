import { ActionIcon, Autocomplete, SegmentedControl, Tooltip } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { facetsQuery } from "@/api/runs/runs";
import type { PartProps, TagDraft } from "./draft";
import classes from "./Outcomes.module.css";

const OUTCOMES = [
  { value: "passed", label: "passed" },
  { value: "failed", label: "failed" },
];

/** The outcomes that tags state. */
export function Tags({ draft, setDraft }: PartProps): ReactElement {
  const { data: facets } = useQuery(facetsQuery);
  const setTags = (tags: TagDraft[]) => setDraft({ ...draft, tags });
  return (
    <ul className={classes.rows}>
      {draft.tags.length === 0 && <li className={classes.note}>No tag decides.</li>}
      {draft.tags.map((entry, index) => (
        <li key={index} className={classes.tag} aria-label={`Tag ${index + 1}`}>
          <Autocomplete
            className={classes.name}
            aria-label="Tag"
            placeholder="outcome:failed"
            data={(facets?.tags ?? []).map(({ value }) => value)}
            value={entry.tag}
            onChange={(tag) => setTags(draft.tags.with(index, { ...entry, tag }))}
          />
          <SegmentedControl
            aria-label="Outcome"
            data={OUTCOMES}
            value={entry.outcome}
            onChange={(outcome) =>
              setTags(draft.tags.with(index, { ...entry, outcome: outcome as TagDraft["outcome"] }))
            }
          />
          <Tooltip label="Remove">
            <ActionIcon
              className={classes.remove}
              aria-label={`Remove tag ${index + 1}`}
              onClick={() => setTags(draft.tags.toSpliced(index, 1))}
            >
              <IconTrash size={15} />
            </ActionIcon>
          </Tooltip>
        </li>
      ))}
    </ul>
  );
}
