import { Button, Menu, Popover, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconBookmark, IconBookmarkPlus } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type SubmitEvent } from "react";
import classes from "../Fork.module.css";
import { nameProblem } from "./matching";
import { showFailure } from "@/ui/failure/failure";

interface SavedItem {
  key: string;
  name: string;
  summary: string;
  load: () => void;
}

interface Props {
  /** The kind of item, "profile" or "policy". */
  noun: string;
  items: readonly SavedItem[];
  /** The name of the saved item that equals the draft. */
  current: string | undefined;
  /** Why there is nothing to save. Undefined if there is. */
  saveBlocker: string | null;
  onSave: (name: string) => Promise<unknown>;
}

/** Load a saved item, or save the current one under a name. */
export function SavedMenu({ noun, items, current, saveBlocker, onSave }: Props): ReactElement {
  return (
    <div className={classes.stored}>
      {current && (
        <span className="chip accent" title={`These match the saved ${noun} ${current}`}>
          {current}
        </span>
      )}
      <Menu position="bottom-end" withinPortal shadow="md" width={300}>
        <Menu.Target>
          <Button
            variant="subtle"
            size="compact-sm"
            leftSection={<IconBookmark size={14} />}
            disabled={items.length === 0}
            title={items.length === 0 ? `No ${noun} saved yet` : undefined}
          >
            Load {noun}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {items.map((item) => (
            <Menu.Item key={item.key} onClick={item.load}>
              <b>{item.name}</b>
              <span className={`muted ${classes.summary}`}>{item.summary}</span>
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <SaveForm noun={noun} saveBlocker={saveBlocker} onSave={onSave} />
    </div>
  );
}

function SaveForm({ noun, saveBlocker, onSave }: Pick<Props, "noun" | "saveBlocker" | "onSave">): ReactElement {
  const [opened, setOpened] = useState(false);
  const [name, setName] = useState("");
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: () => onSave(name),
    onSuccess: () => {
      setOpened(false);
      setName("");
      notifications.show({ message: `Saved as ${name}.` });
      return client.invalidateQueries({ queryKey: [noun === "policy" ? "policies" : "profiles"] });
    },
    onError: (error) => showFailure(`The ${noun} was not saved`, error),
  });
  const problem = nameProblem(name);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (name !== "" && problem === null) save.mutate();
  };
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" withinPortal shadow="md" trapFocus>
      <Popover.Target>
        <Button
          variant="subtle"
          size="compact-sm"
          leftSection={<IconBookmarkPlus size={14} />}
          disabled={saveBlocker !== null}
          title={saveBlocker ?? undefined}
          onClick={() => setOpened(!opened)}
        >
          Save as {noun}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <form className={classes.storedForm} onSubmit={submit}>
          <TextInput
            label="Name"
            description="Saving under an existing name updates it. Past replays keep their version."
            value={name}
            error={problem}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus
          />
          <Button type="submit" loading={save.isPending} disabled={name === "" || problem !== null}>
            Save
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
