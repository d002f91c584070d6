import { Checkbox, Tooltip } from "@mantine/core";
import { useContext, type ReactElement, type ReactNode } from "react";
import type { RunSummary } from "@/api/schema";
import { timeAgo, count, duration, money, totalTokens } from "@/ui/format/numbers";
import { startTitle } from "@/domain/runs/startTime";
import { LabelBar } from "@/features/labels/LabelBar";
import { hasReplayLabels } from "@/domain/steps/labels";
import { RunOutcome } from "@/features/runs/RunOutcome";
import { RunMenu } from "@/features/retention/RunMenu";
import { fullTitle } from "@/domain/runs/title";
import { outcomeNote } from "@/domain/runs/outcome";
import { originOf } from "@/domain/runs/origin";
import type { OptionalColumn } from "./columnChoice";
import { durationShare } from "./durationShare";
import { RecordingState } from "./RecordingState";
import { RunRows } from "./rowContext";
import classes from "./RunsTable.module.css";

export interface ListColumn {
  title: string;
  cell: (run: RunSummary) => ReactNode;
}

export const COLUMNS: Readonly<Record<OptionalColumn, ListColumn>> = {
  app: { title: "App", cell: (run) => <App run={run} /> },
  source: { title: "Source", cell: originOf },
  model: { title: "Model", cell: ({ model }) => <Text>{model}</Text> },
  labels: { title: "Labels", cell: (run) => <Labels run={run} /> },
  started: { title: "Started", cell: (run) => <StartTime run={run} /> },
  duration: { title: "Duration", cell: (run) => <Duration ms={run.duration_ms} /> },
  steps: { title: "Steps", cell: ({ steps }) => count(steps) },
  errors: {
    title: "Errors",
    cell: ({ errors }) => (errors > 0 ? <b className="failed">{count(errors)}</b> : <span className="muted">0</span>),
  },
  tokens: { title: "Tokens", cell: (run) => totalTokens(run) },
  cost: { title: "Cost", cell: (run) => money(run.cost_usd) },
};

export function Choose({ run }: { run: RunSummary }): ReactElement {
  const { selection, onToggle } = useContext(RunRows);
  return (
    <Checkbox
      checked={selection.some(({ id }) => id === run.id)}
      onChange={() => onToggle(run)}
      aria-label={`Select ${fullTitle(run)}`}
      tabIndex={-1}
    />
  );
}

export function ChooseAll(): ReactElement {
  const { coverage, onToggleAll } = useContext(RunRows);
  return (
    <Checkbox
      checked={coverage === "all"}
      indeterminate={coverage === "some"}
      onChange={onToggleAll}
      aria-label="Select all runs on this page"
    />
  );
}

export function Actions({ run }: { run: RunSummary }): ReactElement | null {
  const { actions } = useContext(RunRows);
  return actions && <RunMenu run={run} actions={actions} />;
}

export function OutcomeCell({ run }: { run: RunSummary }): ReactElement {
  const note = outcomeNote(run);
  return (
    <>
      <RunOutcome run={run} withWord />
      {note && <span className={classes.reason}>{note}</span>}
    </>
  );
}

function Text({ children }: { children: string }): ReactElement {
  return children ? (
    <span className="ellipsis" title={children}>
      {children}
    </span>
  ) : (
    <span className="muted">–</span>
  );
}

function Duration({ ms }: { ms: number | null }): ReactElement {
  return (
    <>
      {duration(ms)}
      {ms !== null && <i className={classes.spark} style={{ width: `${durationShare(ms) * 100}%` }} aria-hidden />}
    </>
  );
}

function Labels({ run }: { run: RunSummary }): ReactElement {
  if (hasReplayLabels(run.labels)) return <LabelBar counts={run.labels} />;
  return <RecordingState run={run} />;
}

function App({ run }: { run: RunSummary }): ReactElement {
  return (
    <span className="ellipsis" title={run.environment ? `${run.app} · ${run.environment}` : run.app}>
      {run.app}
    </span>
  );
}

function StartTime({ run }: { run: RunSummary }): ReactElement {
  return (
    <Tooltip label={startTitle(run)}>
      <span>{timeAgo(run.started_at)}</span>
    </Tooltip>
  );
}
