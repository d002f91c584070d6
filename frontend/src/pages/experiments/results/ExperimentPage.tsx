import { Button, Progress, SegmentedControl } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { IconArrowsDiff, IconFlask } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { cancelExperiment, experimentQuery } from "@/api/replays/experiments";
import type { ExperimentView } from "@/api/schema";
import { ErrorPage } from "@/app/ErrorPage";
import { count, duration, pluralize, money } from "@/ui/format/numbers";
import { RunnerWait } from "@/features/runners/RunnerWait";
import { StopButton } from "@/ui/buttons/StopButton";
import { Page, PageHeader, PageLoading } from "@/ui/Page";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { CellsTable } from "./CellsTable";
import { ExperimentState } from "../ExperimentState";
import { cellName, choose, experimentTitle } from "../measures";
import { CellPanel } from "./heat/CellPanel";
import { commonSettings } from "./heat/grid";
import { HeatMap } from "./heat/HeatMap";
import { standing, standingWords } from "./heat/standing";
import { ResultsTable } from "./ResultsTable";
import { useExperiment } from "./useExperiment";
import classes from "../Experiments.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";

const route = getRouteApi("/experiments/$experiment");

export function ExperimentPage(): ReactElement {
  const { experiment: id } = route.useParams();
  const { view, error, retry } = useExperiment(id);
  const [selection, setSelection] = useState<number[]>([]);
  usePageTitle(view ? experimentTitle(view) : "Experiment");
  if (error && !view) return <ErrorPage error={error} onRetry={retry} />;
  if (!view) return <PageLoading name="the experiment" panels={[330, 320]} />;
  return (
    <Page>
      <Header view={view} selection={selection} />
      <RunnerWait text={view.waits_for} />
      <Overview view={view} />
      <Tables view={view} selection={selection} onChoose={(row) => setSelection((current) => choose(current, row))} />
    </Page>
  );
}

/** The best combination in one sentence, the heat map, and one cell of it in detail. */
function Overview({ view }: { view: ExperimentView }): ReactElement {
  const cells = view.aggregates;
  const hasChecks = view.request.checks.length > 0;
  const result = standing(cells, hasChecks);
  const best = result.kind === "best" ? result.cell.cell : null;
  const [pickedCell, setPickedCell] = useState<number | null>(null);
  const cell = cells.find(({ cell }) => cell === (pickedCell ?? best)) ?? cells[0];
  const { claim, remark } = standingWords(result, cellName(cells), cells.length);
  return (
    <>
      <p className={classes.lead}>
        {claim && (
          <b>
            {view.status === "running" && "So far: "}
            {view.status === "running" ? claim : claim.replace(/^as recorded/, "As recorded")}
          </b>
        )}{" "}
        <span className="muted">{remark}</span>
      </p>
      <div className={classes.overview}>
        <HeatMap
          cells={cells}
          samples={view.samples}
          hasChecks={hasChecks}
          isRecorded={(axisName, value) => isRecorded(view, axisName, value)}
          best={best}
          selection={cell?.cell ?? 0}
          onSelect={setPickedCell}
        />
        {cell && (
          <CellPanel
            name={cellName(cells)(cell)}
            cell={cell}
            rows={view.results.filter((row) => row.cell === cell.cell)}
            isBest={cell.cell === best}
          />
        )}
      </div>
    </>
  );
}

function isRecorded({ request }: ExperimentView, axisName: string, value: string): boolean {
  const axis = request.axes.find(({ name }) => name === axisName);
  return axis?.values.find(({ name }) => name === value)?.overrides.length === 0;
}

interface TablesProps {
  view: ExperimentView;
  selection: readonly number[];
  onChoose: (row: number) => void;
}

/** The figures in tables: by combination, which with one sample is the same as by replay. */
function Tables({ view, selection, onChoose }: TablesProps): ReactElement {
  const hasSamples = view.samples > 1;
  const [tab, setTab] = useState<"combinations" | "replays">(hasSamples ? "combinations" : "replays");
  const hasChecks = view.request.checks.length > 0;
  const result = standing(view.aggregates, hasChecks);
  const nameOf = cellName(view.aggregates);
  return (
    <section className="panel" aria-label="Results">
      {hasSamples && (
        <div className={classes.tabs}>
          <SegmentedControl
            aria-label="Rows of the table"
            value={tab}
            onChange={setTab}
            data={[
              { value: "combinations", label: pluralize(view.cells, "combination") },
              { value: "replays", label: pluralize(view.rows, "replay") },
            ]}
          />
        </div>
      )}
      {tab === "combinations" ? (
        <CellsTable
          cells={view.aggregates}
          nameOf={nameOf}
          best={result.kind === "best" ? result.cell.cell : null}
          hasChecks={hasChecks}
        />
      ) : (
        <ResultsTable
          rows={view.results}
          nameOf={nameOf}
          hasChecks={hasChecks}
          selection={selection}
          onChoose={onChoose}
        />
      )}
    </section>
  );
}

function Header({ view, selection }: { view: ExperimentView; selection: readonly number[] }): ReactElement {
  const limit = view.request.budget.max_live_calls;
  const facts = [
    `${pluralize(view.cells, "combination")} × ${pluralize(view.samples, "sample")}`,
    ...commonSettings(view.aggregates).map(({ axis, value }) => `${axis}: ${value}`),
    `${count(view.live_calls)}${limit === null ? "" : ` of ${count(limit)}`} live calls`,
    view.cost_usd === null ? "cost unknown" : money(view.cost_usd),
    ...(view.ended_at ? [duration(Date.parse(view.ended_at) - Date.parse(view.created_at))] : []),
  ];
  return (
    <PageHeader
      crumbs={[
        <Link {...paths.activity({ kind: "experiment" })}>Activity</Link>,
        <Link {...paths.run(view.source_run, { step: view.fork_sequence_no })}>{view.source_name}</Link>,
        `Experiment from step ${view.fork_sequence_no}`,
      ]}
      title={experimentTitle(view)}
      state={
        <>
          <ExperimentState experiment={view} />
          <span className="muted num">{facts.join(" · ")}</span>
        </>
      }
      progress={
        view.status === "running" && (
          <Progress value={(100 * view.finished) / view.rows} size={4} aria-label="Replays done" />
        )
      }
    >
      <Actions view={view} selection={selection} />
    </PageHeader>
  );
}

function Actions({ view, selection }: { view: ExperimentView; selection: readonly number[] }): ReactElement {
  const navigate = useNavigate();
  const runs = selection.map((number) => view.results.find((row) => row.number === number)?.run);
  const [base, candidate] = runs;
  const comparison = base && candidate ? paths.compare({ base, candidate }) : null;
  useShortcuts("Experiment", [
    ...(comparison
      ? [{ keys: "d", action: "Compare the two selected rows", run: () => void navigate(comparison) }]
      : []),
  ]);
  const newExperiment = paths.newExperiment({ run: view.source_run, step: view.fork_sequence_no });
  return (
    <>
      {view.status === "running" && <Cancel id={view.id} />}
      {selection.length === 1 && <span className="muted">Select one more row to compare</span>}
      <Button
        variant="default"
        leftSection={<IconFlask size={15} />}
        renderRoot={(props) => <Link {...newExperiment} {...props} />}
      >
        New experiment
      </Button>
      {comparison && (
        <Button leftSection={<IconArrowsDiff size={15} />} renderRoot={(props) => <Link {...comparison} {...props} />}>
          Compare
        </Button>
      )}
    </>
  );
}

function Cancel({ id }: { id: string }): ReactElement {
  const client = useQueryClient();
  return (
    <StopButton
      stop={() => cancelExperiment(id)}
      onStopped={(view) => client.setQueryData(experimentQuery(id).queryKey, view)}
      failureTitle="The experiment was not cancelled"
    >
      Cancel
    </StopButton>
  );
}
