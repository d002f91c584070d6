import { Button, Group, Stack, Textarea, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type ReactElement, type SubmitEvent } from "react";
import { renameRun } from "@/api/retention";
import type { ActionRun } from "@/domain/retention/refusals";
import { ErrorState } from "@/ui/ErrorState";
import { Dialog } from "@/ui/Dialog";

interface Props {
  run: ActionRun;
  onClose: () => void;
  onSaved: () => void;
}

/** Give a run a name and a note. An empty name shows the recorded one again. */
export default function RenameDialog({ run, onClose, onSaved }: Props): ReactElement {
  const [title, setTitle] = useState(run.title);
  const [note, setNote] = useState(run.note);
  const save = useMutation({
    mutationFn: () => renameRun(run.id, { title, note, tags: null }),
    onSuccess: () => {
      onSaved();
      onClose();
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Dialog onClose={onClose} title="Name and note">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            label="Name"
            description={`Recorded as “${run.name}”`}
            value={title}
            maxLength={120}
            data-autofocus
            onChange={(event) => setTitle(event.currentTarget.value)}
          />
          <Textarea
            label="Note"
            value={note}
            maxLength={2000}
            autosize
            minRows={3}
            maxRows={10}
            onChange={(event) => setNote(event.currentTarget.value)}
          />
          {save.error && <ErrorState error={save.error} />}
          <Group justify="flex-end">
            <Button type="submit" loading={save.isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
