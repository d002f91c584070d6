import { Skeleton } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { IconFlask } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { experimentsQuery } from "@/api/experiments";
import type { ExperimentSummary } from "@/api/schema";
import { EmptyState } from "@/components/EmptyState";
import { ErrorState } from "@/components/ErrorState";
import { ago, count, counted, money, moment } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { useRows } from "@/components/useRows";
import { paths } from "@/paths";
import { ExperimentState } from "./ExperimentState";
import list from "@/components/ListPage.module.css";

/** Every experiment so far, the last first; those under way move. */
export function ExperimentsPage(): ReactElement {
  useDocumentTitle("Experiments");
  const { data, error, refetch } = useQuery({
    ...experimentsQuery,
    refetchInterval: (query) =>
      query.state.data?.experiments.some(({ status }) => status === "running") ? 1000 : false,
  });
  return (
    <ListPage
      title="Experiments"
      note="Many forks of one run side by side: models, prompts and settings, several times each."
    >
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={240} radius="md" />}
      {data && <Experiments experiments={data.experiments} />}
    </ListPage>
  );
}

function Experiments({ experiments }: { experiments: readonly ExperimentSummary[] }): ReactElement {
  const navigate = useNavigate();
  const { selected, body } = useRows("Experiments", experiments.length, (index) => {
    const experiment = experiments[index];
    if (experiment) void navigate(paths.experiment(experiment.id));
  });
  if (experiments.length === 0) {
    return (
      <EmptyState
        icon={<IconFlask size={28} stroke={1.5} />}
        title="There is no experiment yet"
        action={<Link {...paths.runs()}>To the runs</Link>}
      >
        Open a run, pick the step where it went wrong, press <b>f</b>, and choose <b>Experiment…</b> beside Replay.
      </EmptyState>
    );
  }
  return (
    <div className={list.scroll}>
      <table className={list.table}>
        <thead>
          <tr>
            <th scope="col">Experiment</th>
            <th scope="col">State</th>
            <th scope="col">Matrix</th>
            <th scope="col" className={list.figure}>
              Live calls
            </th>
            <th scope="col" className={list.figure}>
              Cost
            </th>
            <th scope="col" className={list.figure}>
              Started
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          {experiments.map((experiment, index) => (
            <tr key={experiment.id} data-selected={index === selected}>
              <th scope="row">
                <Link {...paths.experiment(experiment.id)} className={list.name}>
                  {experiment.name}
                </Link>
                <span className={list.sub}>
                  {experiment.name === experiment.source_name ? "" : `${experiment.source_name}, `}from step{" "}
                  {experiment.fork_sequence_no}
                </span>
              </th>
              <td>
                <ExperimentState experiment={experiment} />
              </td>
              <td>
                {counted(experiment.cells, "cell")} × {counted(experiment.samples, "sample")}
              </td>
              <td className={list.figure}>{count(experiment.live_calls)}</td>
              <td className={list.figure}>{money(experiment.cost_usd)}</td>
              <td className={list.figure} title={moment(experiment.created_at)}>
                {ago(experiment.created_at)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
