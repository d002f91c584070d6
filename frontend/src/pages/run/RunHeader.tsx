import { Button, Menu, Tooltip } from "@mantine/core";
import { IconArrowsDiff, IconChevronDown, IconGitFork, IconRepeat } from "@tabler/icons-react";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { answer, api } from "@/api/client";
import type { RunDetail } from "@/api/schema";
import { timeAgo, pluralize, duration, fullTime, money } from "@/ui/format/numbers";
import { LabelBar } from "@/features/labels/LabelBar";
import { hasReplayLabels } from "@/domain/steps/labels";
import { ForkName } from "@/features/runs/ForkName";
import { RunOutcome } from "@/features/runs/RunOutcome";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { fullTitle, runTitle } from "@/domain/runs/title";
import { originOf } from "@/domain/runs/origin";
import { Marks } from "@/features/retention/Marks";
import { RunMenu } from "@/features/retention/RunMenu";
import { useRunActions } from "@/features/retention/useRunActions";
import { shortenMarkers } from "@/ui/format/markers";
import { RunJudgements } from "./judgements/RunJudgements";
import { ExportButton, Tokens } from "./RunExtras";
import { RevisionMenu } from "./RevisionMenu";
import { RunTools } from "./RunTools";
import classes from "./RunPage.module.css";

/** Breadcrumb, key figures and lineage of a run. */
export function RunHeader({ run }: { run: RunDetail }): ReactElement {
  return (
    <header className={classes.header}>
      <div className={classes.naming}>
        <nav className={classes.crumbs} aria-label="Breadcrumb">
          <Link {...paths.runs()}>Runs</Link>
          <span aria-hidden>/</span>
          <Link {...paths.runs({ app: run.app })}>{run.app}</Link>
          {run.environment && (
            <>
              <span aria-hidden>/</span>
              <Link {...paths.runs({ app: run.app, environment: run.environment })}>{run.environment}</Link>
            </>
          )}
        </nav>
        <div className="bar">
          <RunJudgements run={run} />
          <h1 className="ellipsis" title={fullTitle(run)}>
            {shortenMarkers(runTitle(run))}
          </h1>
          <Marks run={run} />
          <span className={`chip ${classes.origin}`}>{originOf(run)}</span>
          {!run.sealed && <span className="chip simulated">still recording</span>}
        </div>
      </div>
      {run.note && <p className={`muted ${classes.note}`}>{run.note}</p>}
      <Facts run={run} />
      <Lineage run={run} />
    </header>
  );
}

function Facts({ run }: { run: RunDetail }): ReactElement {
  return (
    <div className={`${classes.facts} num`}>
      {hasReplayLabels(run.labels) && (
        <span className={classes.labels}>
          <LabelBar counts={run.labels} height={8} />
        </span>
      )}
      <RevisionMenu run={run} />
      <span>{pluralize(run.steps, "step")}</span>
      {run.errors > 0 && <b className="failed">{pluralize(run.errors, "error")}</b>}
      {run.duration_ms !== null && <span>{duration(run.duration_ms)}</span>}
      {run.tokens_in + run.tokens_out > 0 && <Tokens run={run} />}
      <span>{run.cost_usd === null ? "cost unknown" : money(run.cost_usd)}</span>
      <Tooltip label={fullTime(run.started_at ?? run.created_at)}>
        <span>{timeAgo(run.started_at ?? run.created_at)}</span>
      </Tooltip>
    </div>
  );
}

function Lineage({ run }: { run: RunDetail }): ReactElement {
  const navigate = useNavigate();
  const source = run.source_run ?? run.original;
  const actions = useRunActions();
  // A deleted source cannot be compared.
  const comparable = run.source_deleted_at === null ? source : null;
  const sourceName = run.source_run === null ? run.original_name : run.source_run_name;
  const compare = useMutation({
    mutationFn: (base: string) =>
      answer(api.POST("/api/v1/diffs", { body: { base, candidate: run.id, options: { similarity: "auto" } } })),
    onSuccess: (report) => void navigate(paths.diff(report.id)),
    onError: (error) =>
      notifications.show({ title: "The runs could not be compared", message: error.message, color: "red" }),
  });
  useShortcuts(
    "Run",
    comparable === null
      ? []
      : [{ keys: "c", action: "Compare with the source", run: () => compare.mutate(comparable) }],
  );
  return (
    <div className={classes.lineage}>
      <ExportButton run={run} />
      <RunTools run={run} />
      {source !== null && (
        <>
          <Link
            {...paths.run(source, { ...(run.fork_sequence_no !== null && { step: run.fork_sequence_no }) })}
            className={classes.source}
          >
            <IconGitFork size={14} aria-hidden />
            <span className="ellipsis">
              {run.source_run === null ? "replay of" : `fork from step ${run.fork_sequence_no ?? 1} of`}{" "}
              {sourceName ?? "its source"}
            </span>
          </Link>
          {run.session_id !== null && (
            <Button
              variant="default"
              leftSection={<IconRepeat size={14} />}
              onClick={() => run.session_id && void navigate(paths.replay(run.session_id))}
            >
              Replay
            </Button>
          )}
          <Button
            variant="default"
            leftSection={<IconArrowsDiff size={14} />}
            loading={compare.isPending}
            disabled={comparable === null}
            title={comparable === null ? "The source was deleted" : undefined}
            onClick={() => comparable !== null && compare.mutate(comparable)}
          >
            Compare
          </Button>
        </>
      )}
      {run.derived.length > 0 && (
        <Menu position="bottom-end" shadow="md" width={520}>
          <Menu.Target>
            <Button
              variant="default"
              leftSection={<IconGitFork size={14} />}
              rightSection={<IconChevronDown size={13} />}
            >
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
                <LabelBar counts={fork.labels} height={4} />
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
      <RunMenu run={run} actions={actions} />
      {actions.dialog}
    </div>
  );
}
