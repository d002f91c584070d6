import { Button, CloseButton, Menu } from "@mantine/core";
import {
  IconAdjustments,
  IconArrowsDiff,
  IconDots,
  IconPin,
  IconPinnedOff,
  IconTag,
  IconTrash,
} from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { calibrate } from "@/api/replays/calibrations";
import { answer, api } from "@/api/client";
import type { RunSummary } from "@/api/schema";
import type { RunActions } from "@/features/retention/useRunActions";
import { ShareManyButton } from "@/features/share/ShareManyButton";
import { KeyHint } from "@/ui/keyboard/Kbd";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { showFailure } from "@/ui/failure/failure";
import classes from "./SelectionBar.module.css";
import { orderPair } from "../listing";
import { ExportButton } from "./ExportButton";

interface Props {
  /** The selected runs, in the order of their selection. */
  runs: readonly RunSummary[];
  actions: RunActions;
  onClear: () => void;
}

interface Pair {
  base: RunSummary;
  candidate: RunSummary;
}

/** What can be done with the selected runs. Appears with the first selection. */
export function SelectionBar({ runs, actions, onClear }: Props): ReactElement | null {
  const [first, second] = runs;
  const pair = runs.length === 2 && first && second ? orderPair(first, second) : null;
  const mayChange = actions.mayChange;
  const hint = mayChange ? undefined : "Needs the debugger role";
  if (!first) return null;
  return (
    <section className={classes.bar} aria-label="Selected runs" data-mantine-color-scheme="dark">
      <b className="num" role="status">
        {runs.length} <span className={classes.word}>selected</span>
      </b>
      <CompareButton pair={pair} />
      <Button
        variant="subtle"
        leftSection={<IconTag size={15} />}
        disabled={!mayChange}
        title={hint}
        onClick={() => actions.tag(runs)}
      >
        Tag
      </Button>
      <ShareManyButton runs={runs} refusal={hint} />
      <ExportButton runs={runs} refusal={hint} />
      <Button
        variant="subtle"
        leftSection={<IconTrash size={15} />}
        disabled={!mayChange}
        title={hint}
        loading={actions.isPending}
        onClick={() => actions.remove(runs)}
      >
        Delete
      </Button>
      <MoreMenu runs={runs} pair={pair} actions={actions} />
      <CloseButton aria-label="Clear the selection" onClick={onClear} />
    </section>
  );
}

function CompareButton({ pair }: { pair: Pair | null }): ReactElement {
  const navigate = useNavigate();
  const compare = useMutation({
    mutationFn: ({ base, candidate }: Pair) =>
      answer(
        api.POST("/api/v1/diffs", {
          body: { base: base.id, candidate: candidate.id, options: { similarity: "auto" } },
        }),
      ),
    onSuccess: (report) => void navigate(paths.diff(report.id)),
    onError: (error) => showFailure("The runs could not be compared", error),
  });
  const start = () => pair && !compare.isPending && compare.mutate(pair);
  useShortcuts("Runs: compare", [{ keys: "c", action: "Compare the two selected runs", run: () => void start() }]);
  return (
    <Button
      variant={pair ? "filled" : "subtle"}
      disabled={!pair}
      loading={compare.isPending}
      leftSection={<IconArrowsDiff size={15} />}
      rightSection={pair && <KeyHint>c</KeyHint>}
      aria-keyshortcuts="c"
      title={pair ? `Compare ${pair.base.name} with ${pair.candidate.name}` : "Select two runs to compare them"}
      onClick={() => void start()}
    >
      Compare
    </Button>
  );
}

/** Rare actions. */
function MoreMenu({ runs, pair, actions }: Pick<Props, "runs" | "actions"> & { pair: Pair | null }): ReactElement {
  const navigate = useNavigate();
  const calibrating = useMutation({
    mutationFn: ({ base, candidate }: Pair) => calibrate(base.id, candidate.id),
    onSuccess: (calibration) => void navigate(paths.calibration(calibration.id)),
    onError: (error) => showFailure("The runs could not be compared", error),
  });
  const isPinned = runs.every((run) => run.is_pinned);
  return (
    <Menu position="top-end" shadow="md" width={300}>
      <Menu.Target>
        <Button variant="subtle" loading={calibrating.isPending} aria-label="More actions" px={7}>
          <IconDots size={16} />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={isPinned ? <IconPinnedOff size={15} /> : <IconPin size={15} />}
          disabled={!actions.mayChange}
          onClick={() => actions.mark(runs, { is_pinned: !isPinned })}
        >
          {isPinned ? "Unpin" : "Pin"}
        </Menu.Item>
        {pair && (
          <Menu.Item
            leftSection={<IconAdjustments size={15} />}
            disabled={pair.base.app !== pair.candidate.app}
            onClick={() => calibrating.mutate(pair)}
          >
            Find fields to ignore when matching calls
            <div className="muted">
              {pair.base.app === pair.candidate.app
                ? "For two recordings of the same task"
                : "The runs belong to different apps"}
            </div>
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
