import { Button, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { IconBinaryTree2, IconChevronDown, IconStethoscope } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { bisectionsOfRunQuery } from "@/api/replays/bisections";
import type { RunDetail } from "@/api/schema";
import { timeAgo } from "@/ui/format/numbers";
import { BisectDialog } from "@/features/bisections/BisectDialog";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";

/** Links to the fork tree and to bisections. */
export function RunTools({ run }: { run: RunDetail }): ReactElement {
  const navigate = useNavigate();
  const [isDialogOpen, dialog] = useDisclosure(false);
  const [opened, setOpened] = useState(false);
  const { data } = useQuery({ ...bisectionsOfRunQuery(run.id), enabled: opened });
  const openTree = () => void navigate(paths.tree(run.id));
  useShortcuts("Run", [
    { keys: "t", action: "Open the tree of forks", run: openTree },
    ...(run.sealed ? [{ keys: "b", action: "Bisect: find the step where it went wrong", run: dialog.open }] : []),
  ]);
  return (
    <>
      <Menu position="bottom-end" shadow="md" width={300} opened={opened} onChange={setOpened}>
        <Menu.Target>
          <Button
            variant="default"
            leftSection={<IconStethoscope size={14} />}
            rightSection={<IconChevronDown size={13} />}
          >
            Examine
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconBinaryTree2 size={14} />} onClick={openTree}>
            Tree of forks
          </Menu.Item>
          <Menu.Item leftSection={<IconStethoscope size={14} />} disabled={!run.sealed} onClick={dialog.open}>
            Bisect: where did it go wrong?
          </Menu.Item>
          {data && data.bisections.length > 0 && <Menu.Label>Bisections of this run</Menu.Label>}
          {data?.bisections.slice(0, 5).map((bisection) => (
            <Menu.Item
              key={bisection.id}
              rightSection={<span className="muted">{timeAgo(bisection.created_at)}</span>}
              onClick={() => void navigate(paths.bisection(bisection.id))}
            >
              {bisection.status}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {isDialogOpen && <BisectDialog subject={{ run: run.id }} sourceRun={run.id} onClose={dialog.close} />}
    </>
  );
}
