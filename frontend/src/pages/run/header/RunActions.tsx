import { Button, Menu } from "@mantine/core";
import { IconArrowsDiff, IconChevronDown, IconGitFork } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { answer, api } from "@/api/client";
import type { RunDetail } from "@/api/schema";
import { paths } from "@/app/paths";
import { LabelBar } from "@/features/labels/LabelBar";
import { RunMenu } from "@/features/retention/RunMenu";
import { useRunActions } from "@/features/retention/useRunActions";
import { AnswerLine } from "@/features/runs/AnswerLine";
import { ForkName } from "@/features/runs/ForkName";
import { ShareButton } from "@/features/share/ShareButton";
import { RunOutcome } from "@/features/runs/RunOutcome";
import { pluralize, timeAgo } from "@/ui/format/numbers";
import { KeyHint } from "@/ui/keyboard/Kbd";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { showFailure } from "@/ui/failure/failure";
import { ExportButton } from "./RunExtras";
import { useSelectedNumber } from "../selection";
import { useRunTools } from "./useRunTools";
import classes from "../RunPage.module.css";

export interface ForkAction {
  /** The step of the open fork, whose panel has the next action. */
  step: number | null;
  onOpen: () => void;
}

/** Where a run comes from, what came from it, and what can be done with it. */
export function RunActions({ run, fork }: { run: RunDetail; fork: ForkAction | undefined }): ReactElement {
  const actions = useRunActions();
  const tools = useRunTools(run);
  return (
    <div className={classes.lineage}>
      <SourceLink run={run} />
      <Forks run={run} />
      <ExportButton run={run} />
      <CompareButton run={run} />
      <ShareButton subject={{ kind: "run", id: run.id }} group="Run" />
      <RunMenu run={run} actions={actions}>
        {tools.items}
      </RunMenu>
      {fork && <ForkButton run={run} fork={fork} />}
      {tools.dialog}
      {actions.dialog}
    </div>
  );
}

function ForkButton({ run, fork }: { run: RunDetail; fork: ForkAction }): ReactElement {
  const selectedNumber = useSelectedNumber();
  // An address may name a step that the run does not have.
  const isBeyond = fork.step === null && selectedNumber !== null && selectedNumber > run.steps;
  return (
    <Button
      className={classes.fork}
      variant={fork.step === null ? "filled" : "light"}
      leftSection={<IconGitFork size={15} />}
      rightSection={<KeyHint>f</KeyHint>}
      aria-keyshortcuts="f"
      disabled={!run.sealed || isBeyond}
      title={run.sealed ? undefined : "Still recording: no fork yet"}
      onClick={fork.onOpen}
    >
      Fork from step {fork.step ?? selectedNumber ?? 1}
    </Button>
  );
}

function SourceLink({ run }: { run: RunDetail }): ReactElement | null {
  const source = run.source_run ?? run.original;
  if (source === null) return null;
  const isFork = run.source_run !== null;
  const name = isFork ? run.source_run_name : run.original_name;
  return (
    <Link
      {...paths.run(source, { ...(run.fork_sequence_no !== null && { step: run.fork_sequence_no }) })}
      className={classes.source}
    >
      <IconGitFork size={14} aria-hidden />
      <span className="ellipsis">
        {isFork ? `fork from step ${run.fork_sequence_no ?? 1} of` : "replay of"} {name ?? "its source"}
      </span>
    </Link>
  );
}

/** Compare a fork with its source, any other run with one to choose. */
function CompareButton({ run }: { run: RunDetail }): ReactElement {
  const navigate = useNavigate();
  const source = run.source_run ?? run.original;
  const isSourceDeleted = source !== null && run.source_deleted_at !== null;
  const compare = useMutation({
    mutationFn: (base: string) =>
      answer(api.POST("/api/v1/diffs", { body: { base, candidate: run.id, options: { similarity: "auto" } } })),
    onSuccess: (report) => void navigate(paths.diff(report.id)),
    onError: (error) => showFailure("The runs could not be compared", error),
  });
  const start = () => {
    if (source === null) void navigate(paths.compare({ candidate: run.id }));
    else if (!isSourceDeleted && !compare.isPending) compare.mutate(source);
  };
  useShortcuts("Run", [
    { keys: "c", action: source === null ? "Compare with another run" : "Compare with the source", run: start },
  ]);
  return (
    <Button
      variant="default"
      leftSection={<IconArrowsDiff size={14} />}
      rightSection={<KeyHint>c</KeyHint>}
      aria-keyshortcuts="c"
      loading={compare.isPending}
      disabled={isSourceDeleted}
      title={isSourceDeleted ? "The source was deleted" : undefined}
      onClick={start}
    >
      Compare
    </Button>
  );
}

function Forks({ run }: { run: RunDetail }): ReactElement | null {
  const navigate = useNavigate();
  if (run.derived.length === 0) return null;
  return (
    <Menu position="bottom-end" shadow="md" width={520}>
      <Menu.Target>
        <Button variant="default" leftSection={<IconGitFork size={14} />} rightSection={<IconChevronDown size={13} />}>
          {pluralize(run.derived.length, "fork")}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {run.derived.map((fork) => (
          <Menu.Item
            key={fork.id}
            leftSection={<RunOutcome run={fork} />}
            rightSection={<span className="muted">{timeAgo(fork.created_at)}</span>}
            onClick={() => void navigate(paths.run(fork.id))}
          >
            <ForkName fork={fork} step={fork.fork_sequence_no} />
            <AnswerLine run={fork} />
            <LabelBar counts={fork.labels} height={4} />
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
