import { Checkbox, Tooltip, VisuallyHidden } from "@mantine/core";
import { IconGitFork } from "@tabler/icons-react";
import { createColumnHelper, tableFeatures } from "@tanstack/react-table";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { RunSummary } from "@/api/schema";
import { ago, count, duration, moment, money, shortId, tokens } from "@/components/format";
import { LabelBar } from "@/components/LabelBar";
import { LabelGlyph } from "@/components/LabelGlyph";
import { hasReplayLabels } from "@/components/labels";
import { paths } from "@/paths";
import { barShare } from "./listing";
import { RunStatus } from "./RunStatus";
import classes from "./RunsTable.module.css";

export interface RunRowContext {
  selected: readonly string[];
  onToggle: (id: string) => void;
  longest: number;
}
export const features = tableFeatures({});
const helper = createColumnHelper<typeof features, RunSummary>();

export const template = "24px minmax(260px, 1fr) minmax(90px, 150px) 68px 92px 132px 44px 46px 68px 64px 96px";

const heading = (text: string) => () => <>{text}</>;

export function runColumns({ selected, onToggle, longest }: RunRowContext) {
  return helper.columns([
    helper.display({
      id: "choose",
      header: () => <VisuallyHidden>Compare</VisuallyHidden>,
      cell: ({ row: { original } }) => (
        <Checkbox
          checked={selected.includes(original.id)}
          onChange={() => onToggle(original.id)}
          aria-label={`Choose ${original.name} for a comparison`}
          tabIndex={-1}
        />
      ),
    }),
    helper.display({ id: "name", header: heading("Run"), cell: ({ row }) => <Name run={row.original} /> }),
    helper.display({ id: "app", header: heading("App"), cell: ({ row }) => <App run={row.original} /> }),
    helper.display({
      id: "source",
      header: heading("Source"),
      cell: ({ row }) => <>{row.original.format || row.original.source}</>,
    }),
    helper.display({ id: "started", header: heading("Started"), cell: ({ row }) => <Started run={row.original} /> }),
    helper.display({
      id: "duration",
      header: heading("Duration"),
      cell: ({ row }) => (
        <>
          <span className={classes.spark} aria-hidden>
            <i style={{ width: `${barShare(row.original.duration_ms, longest) * 100}%` }} />
          </span>
          <span>{duration(row.original.duration_ms)}</span>
        </>
      ),
    }),
    helper.display({ id: "steps", header: heading("Steps"), cell: ({ row }) => <>{count(row.original.steps)}</> }),
    helper.display({
      id: "errors",
      header: heading("Errors"),
      cell: ({ row: { original } }) =>
        original.errors > 0 ? <b className="failed">{count(original.errors)}</b> : <span className="muted">0</span>,
    }),
    helper.display({
      id: "tokens",
      header: heading("Tokens"),
      cell: ({ row }) => <>{tokens(row.original.tokens_in + row.original.tokens_out || null)}</>,
    }),
    helper.display({ id: "cost", header: heading("Cost"), cell: ({ row }) => <>{money(row.original.cost_usd)}</> }),
    helper.display({
      id: "labels",
      header: heading("Labels"),
      cell: ({ row }) => <Labels run={row.original} />,
    }),
  ]);
}

function Name({ run }: { run: RunSummary }): ReactElement {
  return (
    <>
      <RunStatus status={run.status} errors={run.errors} />
      <Link {...paths.run(run.id)} className={classes.link}>
        {run.name || shortId(run.external_id)}
      </Link>
      {run.fork_sequence_no !== null && (
        <span className="chip accent">
          <IconGitFork size={12} aria-hidden /> fork at {run.fork_sequence_no}
        </span>
      )}
      <span className={`muted ellipsis ${classes.id}`}>{run.external_id === run.name ? "" : run.external_id}</span>
    </>
  );
}

function Labels({ run }: { run: RunSummary }): ReactElement {
  if (hasReplayLabels(run.labels)) return <LabelBar counts={run.labels} />;
  return (
    <span className={`muted ${classes.recorded}`}>
      <LabelGlyph mark="live" silent /> recorded
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

function Started({ run }: { run: RunSummary }): ReactElement {
  const at = run.started_at ?? run.created_at;
  return (
    <Tooltip label={run.started_at ? moment(at) : `Imported ${moment(at)}; the recording has no time`}>
      <span>{ago(at)}</span>
    </Tooltip>
  );
}
