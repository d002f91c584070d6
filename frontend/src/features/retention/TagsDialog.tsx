import { Button, Group, MultiSelect, Stack, TagsInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactElement, type SubmitEvent } from "react";
import { tagRuns } from "@/api/retention";
import { facetsQuery } from "@/api/runs/runs";
import type { ActionRun } from "@/domain/retention/refusals";
import { taggedWords, type TagEdit } from "@/domain/retention/tags";
import { ErrorState } from "@/ui/ErrorState";
import { pluralize } from "@/ui/format/numbers";
import { offerUndo } from "@/ui/offerUndo";
import { Dialog } from "@/ui/Dialog";

interface Props {
  runs: readonly ActionRun[];
  onClose: () => void;
  onSaved: () => void;
}

interface FieldProps {
  runs: readonly ActionRun[];
  /** The tags of all runs, most frequent first. */
  knownTags: string[];
  edit: TagEdit;
  onChange: (edit: TagEdit) => void;
}

// The frame around the field shows its focus.
const FIELD_STYLES = { inputField: { outline: "none" } };
// Below the field, the suggestions would cover the buttons.
const SUGGESTIONS = { position: "top" } as const;
const UNCHANGED: TagEdit = { add: [], remove: [] };

/** Edit the tags of a run, or add tags to several runs and remove tags from them. */
export default function TagsDialog({ runs, onClose, onSaved }: Props): ReactElement {
  const [edit, setEdit] = useState(UNCHANGED);
  const { data: facets } = useQuery(facetsQuery);
  const save = useMutation({
    mutationFn: () => tagRuns([{ runs: runs.map(({ id }) => id), ...edit }]),
    onSuccess: ({ changed_runs, undo }) => {
      onSaved();
      onClose();
      if (changed_runs === 0) return;
      offerUndo(taggedWords(changed_runs), "The tags were not restored", () => tagRuns(undo).finally(onSaved));
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const Fields = runs.length === 1 ? RunTags : SharedTags;
  return (
    <Dialog onClose={onClose} title={runs.length === 1 ? "Tags" : `Tags of ${pluralize(runs.length, "run")}`}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Fields runs={runs} knownTags={facets?.tags.map(({ value }) => value) ?? []} edit={edit} onChange={setEdit} />
          {save.error && <ErrorState error={save.error} />}
          <Group justify="flex-end">
            <Button
              type="submit"
              loading={save.isPending}
              disabled={edit.add.length + edit.remove.length === 0}
              title={edit.add.length + edit.remove.length === 0 ? "No tag was changed" : undefined}
            >
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function RunTags({ runs, knownTags, edit, onChange }: FieldProps): ReactElement {
  const currentTags = runs[0]?.tags ?? [];
  const tags = [...currentTags.filter((tag) => !edit.remove.includes(tag)), ...edit.add];
  return (
    <TagsInput
      styles={FIELD_STYLES}
      label="Tags"
      description="Press Enter after each tag"
      data={knownTags}
      comboboxProps={SUGGESTIONS}
      value={tags}
      maxTags={100}
      clearable
      data-autofocus
      onChange={(next) =>
        onChange({
          add: next.filter((tag) => !currentTags.includes(tag)),
          remove: currentTags.filter((tag) => !next.includes(tag)),
        })
      }
    />
  );
}

function SharedTags({ runs, knownTags, edit, onChange }: FieldProps): ReactElement {
  const currentTags = [...new Set(runs.flatMap(({ tags }) => tags))].sort();
  return (
    <>
      <TagsInput
        styles={FIELD_STYLES}
        label="Add"
        description="Press Enter after each tag"
        data={knownTags}
        comboboxProps={SUGGESTIONS}
        value={edit.add}
        maxTags={100}
        data-autofocus
        onChange={(add) => onChange({ add, remove: edit.remove.filter((tag) => !add.includes(tag)) })}
      />
      <MultiSelect
        styles={FIELD_STYLES}
        label="Remove"
        description={currentTags.length > 0 ? "Tags that some of these runs have" : "None of these runs has a tag"}
        data={currentTags}
        value={edit.remove}
        disabled={currentTags.length === 0}
        onChange={(remove) => onChange({ remove, add: edit.add.filter((tag) => !remove.includes(tag)) })}
      />
    </>
  );
}
