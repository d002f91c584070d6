import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type ReactElement, type SubmitEvent } from "react";
import { ErrorState } from "@/ui/ErrorState";
import { Dialog } from "@/ui/Dialog";

interface Props {
  title: string;
  initialName: string;
  onSave: (name: string) => Promise<unknown>;
  onClose: () => void;
}

/** Ask for the name of a view. It loads when it is needed. */
export default function ViewNameDialog({ title, initialName, onSave, onClose }: Props): ReactElement {
  const [name, setName] = useState(initialName);
  const save = useMutation({ mutationFn: () => onSave(name.trim()), onSuccess: onClose });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (name.trim()) save.mutate();
  };
  return (
    <Dialog onClose={onClose} title={title}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            label="Name"
            description="Everyone who uses this server sees the view"
            value={name}
            maxLength={80}
            required
            data-autofocus
            onChange={(event) => setName(event.currentTarget.value)}
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
