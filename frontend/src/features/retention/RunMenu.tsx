import { ActionIcon, Menu } from "@mantine/core";
import { IconDots, IconGavel, IconPencil, IconPin, IconPinnedOff, IconTag, IconTrash } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import type { ActionRun } from "@/domain/retention/refusals";
import type { RunActions } from "./useRunActions";

interface Props {
  run: ActionRun;
  actions: RunActions;
  /** Further entries, above the others. */
  children?: ReactNode;
}

/** The menu of one run: name, tags, pin, legal hold, delete. A disabled entry states why. */
export function RunMenu({ run, actions, children }: Props): ReactElement {
  return (
    <Menu position="bottom-end" shadow="md" width={270}>
      <Menu.Target>
        <ActionIcon aria-label={`Actions of ${run.name}`} loading={actions.isPending}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {children}
        {children !== undefined && <Menu.Divider />}
        <RunMenuItems run={run} actions={actions} />
      </Menu.Dropdown>
    </Menu>
  );
}

function RunMenuItems({ run, actions }: { run: ActionRun; actions: RunActions }): ReactElement {
  const { mayChange, isAdmin } = actions;
  const obstacle = deletionObstacle(run, mayChange);
  return (
    <>
      <Menu.Item
        leftSection={<IconPencil size={15} />}
        disabled={!mayChange}
        rightSection={!mayChange && <Reason>needs the debugger role</Reason>}
        onClick={() => actions.rename(run)}
      >
        Name and note
      </Menu.Item>
      <Menu.Item
        leftSection={<IconTag size={15} />}
        disabled={!mayChange || !run.sealed}
        rightSection={<Reason>{mayChange ? (run.sealed ? "" : "still recording") : "needs the debugger role"}</Reason>}
        onClick={() => actions.tag([run])}
      >
        Tags
      </Menu.Item>
      <Menu.Item
        leftSection={run.is_pinned ? <IconPinnedOff size={15} /> : <IconPin size={15} />}
        disabled={!mayChange}
        rightSection={!mayChange && <Reason>needs the debugger role</Reason>}
        onClick={() => actions.mark([run], { is_pinned: !run.is_pinned })}
      >
        {run.is_pinned ? "Unpin" : "Pin"}
      </Menu.Item>
      <Menu.Item
        leftSection={<IconGavel size={15} />}
        disabled={!isAdmin}
        rightSection={!isAdmin && <Reason>needs the admin role</Reason>}
        onClick={() => actions.mark([run], { is_held: !run.is_held })}
      >
        {run.is_held ? "End the legal hold" : "Put under legal hold"}
      </Menu.Item>
      <Menu.Divider />
      <Menu.Item
        leftSection={<IconTrash size={15} />}
        disabled={obstacle !== ""}
        {...(obstacle === "" && { c: "var(--failed)" })}
        rightSection={<Reason>{obstacle}</Reason>}
        onClick={() => actions.remove([run])}
      >
        Delete
      </Menu.Item>
    </>
  );
}

function deletionObstacle(run: ActionRun, mayChange: boolean): string {
  if (!mayChange) return "needs the debugger role";
  if (run.is_held) return "under legal hold";
  return run.sealed ? "" : "still recording";
}

function Reason({ children }: { children: string }): ReactElement {
  return <small className="muted">{children}</small>;
}
