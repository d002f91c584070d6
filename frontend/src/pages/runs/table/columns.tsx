import { Checkbox, Tooltip, VisuallyHidden } from "@mantine/core";
import { createColumnHelper, tableFeatures } from "@tanstack/react-table";
import { Link } from "@tanstack/react-router";
import { createContext, useContext, type ReactElement, type ReactNode } from "react";
import type { RunSummary } from "@/api/schema";
import { timeAgo, count, duration, fullTime, money, tokens } from "@/ui/format/numbers";
import { LabelBar } from "@/features/labels/LabelBar";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { hasReplayLabels } from "@/domain/steps/labels";
import { RunName } from "@/features/runs/RunName";
import { RunOutcome } from "@/features/runs/RunOutcome";
import { Marks } from "@/features/retention/Marks";
import { RunMenu } from "@/features/retention/RunMenu";
import type { RunActions } from "@/features/retention/useRunActions";
import { RevisionMark } from "@/features/runs/RevisionMark";
import { paths } from "@/app/paths";
import { fullTitle } from "@/domain/runs/title";
import { barShare } from "../listing";
import { originOf } from "@/domain/runs/origin";
import classes from "./RunsTable.module.css";

export interface RunRowContext {
  selection: readonly string[];
  onToggle: (id: string) => void;
  onToggleAll: () => void;
  /** All runs on the page are selected, or only some. */
  coverage: "none" | "some" | "all";
  actions: RunActions | null;
  longest: number;
}
export const features = tableFeatures({});
const helper = createColumnHelper<typeof features, RunSummary>();

export const template =
  "24px 96px minmax(240px, 1fr) minmax(90px, 150px) 68px 92px 112px 56px 44px 62px 60px 92px 28px";

/** Data of the cells besides their run. The columns are constant so that a focused cell stays mounted. */
export const RunRows = createContext<RunRowContext>({
  selection: [],
  onToggle: () => undefined,
  onToggleAll: () => undefined,
  coverage: "none",
  actions: null,
  longest: 0,
});

const column = (id: string, title: string, draw: (run: RunSummary) => ReactNode) =>
  helper.display({ id, header: () => <>{title}</>, cell: ({ row }) => draw(row.original) });

export const columns = helper.columns([
  helper.display({
    id: "choose",
    header: () => <ChooseAll />,
    cell: ({ row }) => <Choose run={row.original} />,
  }),
  column("outcome", "Outcome", (run) => <RunOutcome run={run} withWord />),
  column("name", "Run", (run) => <Name run={run} />),
  column("app", "App", (run) => <App run={run} />),
  column("source", "Source", originOf),
  column("started", "Started", (run) => <StartTime run={run} />),
  column("duration", "Duration", (run) => <Duration run={run} />),
  column("steps", "Steps", (run) => count(run.steps)),
  column("errors", "Errors", (run) =>
    run.errors > 0 ? <b className="failed">{count(run.errors)}</b> : <span className="muted">0</span>,
  ),
  column("tokens", "Tokens", (run) => tokens(run.tokens_in + run.tokens_out || null)),
  column("cost", "Cost", (run) => money(run.cost_usd)),
  column("labels", "Labels", (run) => <Labels run={run} />),
  helper.display({
    id: "menu",
    header: () => <VisuallyHidden>Actions</VisuallyHidden>,
    cell: ({ row }) => <Actions run={row.original} />,
  }),
]);

function Choose({ run }: { run: RunSummary }): ReactElement {
  const { selection, onToggle } = useContext(RunRows);
  return (
    <Checkbox
      checked={selection.includes(run.id)}
      onChange={() => onToggle(run.id)}
      aria-label={`Select ${fullTitle(run)}`}
      tabIndex={-1}
    />
  );
}

function ChooseAll(): ReactElement {
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

function Actions({ run }: { run: RunSummary }): ReactElement | null {
  const { actions } = useContext(RunRows);
  return actions && <RunMenu run={run} actions={actions} />;
}

function Duration({ run }: { run: RunSummary }): ReactElement {
  const { longest } = useContext(RunRows);
  return (
    <>
      <span className={run.duration_ms === null ? undefined : classes.spark} aria-hidden>
        <i style={{ width: `${barShare(run.duration_ms, longest) * 100}%` }} />
      </span>
      <span>{duration(run.duration_ms)}</span>
    </>
  );
}

function Name({ run }: { run: RunSummary }): ReactElement {
  return (
    <>
      <Link {...paths.run(run.id)} className={classes.link} title={run.external_id}>
        <RunName run={run} />
      </Link>
      <Marks run={run} />
      <RevisionMark revision={run.revision} />
    </>
  );
}

function Labels({ run }: { run: RunSummary }): ReactElement {
  if (hasReplayLabels(run.labels)) return <LabelBar counts={run.labels} />;
  return (
    <span className={`muted ${classes.recorded}`}>
      <LabelGlyph mark="live" silent /> {run.sealed ? "recorded" : "under way"}
    </span>
  );
}

function App({ run }: { run: RunSummary }): ReactElement {
  return (
    <span className="ellipsis" title={run.environment ? `${run.app} · ${run.environment}` : run.app}>
      {run.app}
      {run.environment && <span className="muted"> · {run.environment}</span>}
    </span>
  );
}

function StartTime({ run }: { run: RunSummary }): ReactElement {
  const time = run.started_at ?? run.created_at;
  return (
    <Tooltip label={run.started_at ? fullTime(time) : `Imported ${fullTime(time)}; the recording has no time`}>
      <span>{timeAgo(time)}</span>
    </Tooltip>
  );
}
