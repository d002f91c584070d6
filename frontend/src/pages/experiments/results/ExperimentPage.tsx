import { Button, Progress, Skeleton } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { IconArrowsDiff, IconFlask } from "@tabler/icons-react";
import { lazy, Suspense, useState, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import { cancelExperiment, experimentQuery } from "@/api/replays/experiments";
import type { ExperimentView } from "@/api/schema";
import { ErrorPage } from "@/app/ErrorPage";
import { count, pluralize, money } from "@/ui/format/numbers";
import { StopButton } from "@/ui/StopButton";
import { Page, PageHeader, PageLoading } from "@/ui/Page";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { CellsTable } from "./CellsTable";
import { ExperimentState } from "../ExperimentState";
import { choose } from "../measures";
import { ResultsTable } from "./ResultsTable";
import { useExperiment } from "./useExperiment";
import classes from "../Experiments.module.css";

const Scatter = lazy(() => loadPart(() => import("./Scatter")));
const route = getRouteApi("/experiments/$experiment");

export function ExperimentPage(): ReactElement {
  const { experiment: id } = route.useParams();
  const { view, error, retry } = useExperiment(id);
  const [selection, setSelection] = useState<number[]>([]);
  useDocumentTitle(view ? view.name : "Experiment");
  if (error && !view) return <ErrorPage error={error} onRetry={retry} />;
  if (!view) return <PageLoading name="the experiment" panels={[230, 320]} />;
  return (
    <Page>
      <Header view={view} selection={selection} />
      <div className={classes.overview}>
        <section className="panel" aria-label="Combinations">
          <CellsTable cells={view.aggregates} hasChecks={view.request.checks.length > 0} />
        </section>
        <section className={`panel ${classes.chart}`} aria-label="Cost against similarity">
          <Suspense fallback={<Skeleton height={230} />}>
            <Scatter rows={view.results} />
          </Suspense>
        </section>
      </div>
      <section className="panel" aria-label="Results">
        <ResultsTable
          rows={view.results}
          hasChecks={view.request.checks.length > 0}
          selection={selection}
          onChoose={(row) => setSelection((current) => choose(current, row))}
        />
      </section>
    </Page>
  );
}

function Header({ view, selection }: { view: ExperimentView; selection: readonly number[] }): ReactElement {
  const limit = view.request.budget.max_live_calls;
  return (
    <PageHeader
      crumbs={[
        <Link {...paths.activity({ kind: "experiment" })}>Experiments</Link>,
        <>
          <Link {...paths.run(view.source_run, { step: view.fork_sequence_no })}>{view.source_name}</Link> fork from
          step {view.fork_sequence_no}
        </>,
      ]}
      title={view.name}
      state={
        <>
          <ExperimentState experiment={view} />
          <span className="muted num">
            {pluralize(view.cells, "cell")} × {pluralize(view.samples, "sample")} · {count(view.live_calls)}
            {limit === null ? "" : ` of ${count(limit)}`} live calls ·{" "}
            {view.cost_usd === null ? "cost unknown" : money(view.cost_usd)}
          </span>
        </>
      }
      progress={
        view.status === "running" && (
          <Progress value={(100 * view.finished) / view.rows} size={4} aria-label="Rows done" />
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
    ...(comparison ? [{ keys: "d", action: "Diff the two chosen rows", run: () => void navigate(comparison) }] : []),
  ]);
  const newExperiment = paths.newExperiment({ run: view.source_run, step: view.fork_sequence_no });
  return (
    <>
      {view.status === "running" && <Cancel id={view.id} />}
      <Button
        variant="default"
        leftSection={<IconFlask size={15} />}
        renderRoot={(props) => <Link {...newExperiment} {...props} />}
      >
        New experiment
      </Button>
      {comparison ? (
        <Button leftSection={<IconArrowsDiff size={15} />} renderRoot={(props) => <Link {...comparison} {...props} />}>
          Diff the two
        </Button>
      ) : (
        <span className="muted">
          {selection.length === 1 ? "Choose one more row to diff" : "Choose two rows to diff"}
        </span>
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
