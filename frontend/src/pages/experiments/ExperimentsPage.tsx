import { Button } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { IconFlask, IconStethoscope } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { experimentsQuery } from "@/api/replays/experiments";
import type { ExperimentSummary } from "@/api/schema";
import { EmptyState } from "@/ui/EmptyState";
import { timeAgo, count, pluralize, money, fullTime } from "@/ui/format/numbers";
import { ListPage, LoadedList, RowTable, type Column } from "@/ui/ListPage";
import { paths } from "@/app/paths";
import { ExperimentState } from "./ExperimentState";
import list from "@/ui/ListPage.module.css";

/** All experiments, newest first, updated while they run. */
export function ExperimentsPage(): ReactElement {
  useDocumentTitle("Experiments");
  const navigate = useNavigate();
  const listing = useQuery({
    ...experimentsQuery,
    refetchInterval: (query) =>
      query.state.data?.experiments.some(({ status }) => status === "running") ? 1000 : false,
  });
  return (
    <ListPage
      title="Experiments"
      note="Fork one run many times to compare models, prompts and settings."
      action={
        <Button
          variant="default"
          leftSection={<IconStethoscope size={14} />}
          renderRoot={(props) => <Link {...paths.bisections()} {...props} />}
        >
          Bisections
        </Button>
      }
    >
      <LoadedList listing={listing}>
        {({ experiments }) => (
          <RowTable
            name="Experiments"
            columns={COLUMNS}
            rows={experiments}
            empty={<NoExperiments />}
            onOpen={(experiment) => void navigate(paths.experiment(experiment.id))}
          />
        )}
      </LoadedList>
    </ListPage>
  );
}

function NoExperiments(): ReactElement {
  return (
    <EmptyState
      icon={<IconFlask size={28} stroke={1.5} />}
      title="No experiments yet"
      action={<Link {...paths.runs()}>Go to runs</Link>}
    >
      Open a run, pick the step where it went wrong, press <b>f</b>, and choose <b>Experiment…</b> beside Replay.
    </EmptyState>
  );
}

const COLUMNS: readonly [Column<ExperimentSummary>, ...Column<ExperimentSummary>[]] = [
  {
    title: "Experiment",
    cell: (experiment) => (
      <>
        <Link {...paths.experiment(experiment.id)} className={list.name}>
          {experiment.name}
        </Link>
        <span className={list.sub}>
          {experiment.name === experiment.source_name ? "" : `${experiment.source_name}, `}from step{" "}
          {experiment.fork_sequence_no}
        </span>
      </>
    ),
  },
  { title: "State", cell: (experiment) => <ExperimentState experiment={experiment} /> },
  {
    title: "Matrix",
    cell: ({ cells, samples }) => `${pluralize(cells, "cell")} × ${pluralize(samples, "sample")}`,
  },
  { title: "Live calls", className: list.figure, cell: (experiment) => count(experiment.live_calls) },
  { title: "Cost", className: list.figure, cell: (experiment) => money(experiment.cost_usd) },
  {
    title: "Started",
    className: list.figure,
    cell: (experiment) => timeAgo(experiment.created_at),
    hint: (experiment) => fullTime(experiment.created_at),
  },
];
