import { Button, Progress } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { IconArrowsDiff, IconFlask } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { cancelExperiment, experimentQuery } from "@/api/replays/experiments";
import type { ExperimentView } from "@/api/schema";
import { ErrorPage } from "@/app/ErrorPage";
import { RunnerWait } from "@/features/runners/RunnerWait";
import { ShareButton } from "@/features/share/ShareButton";
import { ExportMenu, type ExportFile } from "@/ui/buttons/ExportMenu";
import { StopButton } from "@/ui/buttons/StopButton";
import { Page, PageHeader, PageLoading } from "@/ui/Page";
import { paths, serverPaths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { ExperimentState } from "../ExperimentState";
import { choose, experimentTitle } from "../measures";
import { experimentFacts } from "./facts";
import { Results } from "./Results";
import { useExperiment } from "./useExperiment";
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
      <Results view={view} selection={selection} onChoose={(row) => setSelection((current) => choose(current, row))} />
    </Page>
  );
}

function Header({ view, selection }: { view: ExperimentView; selection: readonly number[] }): ReactElement {
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
          <span className="muted num">{experimentFacts(view)}</span>
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
      <ShareButton
        subject={{ kind: "experiment", id: view.id }}
        group="Experiment"
        refusal={view.status === "running" ? "An experiment can be shared once it has ended" : undefined}
      />
      <ExportMenu files={filesOf(view.id)} />
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

function filesOf(id: string): ExportFile[] {
  return [
    { label: "CSV, a line per replay", href: serverPaths.experimentFile(id, "csv"), name: `experiment-${id}.csv` },
    { label: "JSON, with the settings", href: serverPaths.experimentFile(id, "json"), name: `experiment-${id}.json` },
  ];
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
