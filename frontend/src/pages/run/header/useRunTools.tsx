import { Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { IconAdjustments, IconBinaryTree2, IconPrinter, IconRepeat, IconStethoscope } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { bisectionsOfRunQuery } from "@/api/replays/bisections";
import { calibrateAgent } from "@/api/replays/calibrations";
import type { RunDetail } from "@/api/schema";
import { timeAgo } from "@/ui/format/numbers";
import { BisectDialog } from "@/features/bisections/BisectDialog";
import { paths } from "@/app/paths";
import { Kbd, Keys } from "@/ui/keyboard/Kbd";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { showFailure } from "@/ui/failure/failure";
import { usePrint } from "./usePrint";

/** What can be found out about a run beyond its steps: menu items, and the dialog that one of them opens. */
export function useRunTools(run: RunDetail): { items: ReactElement; dialog: ReactElement | null } {
  const navigate = useNavigate();
  const [isDialogOpen, dialog] = useDisclosure(false);
  const print = usePrint(run);
  const openTree = () => void navigate(paths.tree(run.id));
  useShortcuts("Run", [
    { keys: "t", action: "Open the fork tree", run: openTree },
    ...(run.sealed ? [{ keys: "b", action: "Bisect: find the step where it went wrong", run: dialog.open }] : []),
  ]);
  const { session_id: session } = run;
  return {
    items: (
      <>
        {session !== null && (
          <Menu.Item leftSection={<IconRepeat size={15} />} onClick={() => void navigate(paths.replay(session))}>
            Replay that made it
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconBinaryTree2 size={15} />} rightSection={<Kbd>t</Kbd>} onClick={openTree}>
          Fork tree
        </Menu.Item>
        <Menu.Item
          leftSection={<IconStethoscope size={15} />}
          rightSection={<Kbd>b</Kbd>}
          disabled={!run.sealed}
          onClick={dialog.open}
        >
          Bisect: where did it go wrong?
        </Menu.Item>
        <CalibrateItem run={run} />
        <Menu.Item
          leftSection={<IconPrinter size={15} />}
          rightSection={<Keys keys="mod+p" />}
          onClick={() => void print()}
        >
          Print
        </Menu.Item>
        <Bisections run={run.id} />
      </>
    ),
    dialog: isDialogOpen ? <BisectDialog subject={{ run: run.id }} sourceRun={run.id} onClose={dialog.close} /> : null,
  };
}

/** Let the agent show which fields of its calls vary without meaning. */
function CalibrateItem({ run }: { run: RunDetail }): ReactElement {
  const navigate = useNavigate();
  const start = useMutation({
    mutationFn: () => calibrateAgent(run.id),
    onSuccess: ({ id }) => void navigate(paths.agentCalibration(id)),
    onError: (error) => showFailure("The agent was not started", error),
  });
  return (
    <Menu.Item
      leftSection={<IconAdjustments size={15} />}
      disabled={!run.sealed || start.isPending}
      onClick={() => start.mutate()}
    >
      Find fields to ignore when matching calls
      <div className="muted">A runner starts the agent twice, unchanged</div>
    </Menu.Item>
  );
}

function Bisections({ run }: { run: string }): ReactElement | null {
  const navigate = useNavigate();
  const { data } = useQuery(bisectionsOfRunQuery(run));
  if (!data || data.bisections.length === 0) return null;
  return (
    <>
      <Menu.Label>Bisections of this run</Menu.Label>
      {data.bisections.slice(0, 5).map((bisection) => (
        <Menu.Item
          key={bisection.id}
          rightSection={<span className="muted">{timeAgo(bisection.created_at)}</span>}
          onClick={() => void navigate(paths.bisection(bisection.id))}
        >
          {bisection.status}
        </Menu.Item>
      ))}
    </>
  );
}
