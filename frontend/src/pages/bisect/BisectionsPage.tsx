import { useDocumentTitle } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { IconStethoscope } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { bisectionsQuery } from "@/api/replays/bisections";
import type { BisectionSummary } from "@/api/schema";
import { EmptyState } from "@/ui/EmptyState";
import { timeAgo, count, money, fullTime } from "@/ui/format/numbers";
import { ListPage, LoadedList, RowTable, type Column } from "@/ui/ListPage";
import { paths } from "@/app/paths";
import { BisectionState } from "./BisectionState";
import list from "@/ui/ListPage.module.css";

/** All bisections, newest first, updated while they run. */
export function BisectionsPage(): ReactElement {
  useDocumentTitle("Bisections");
  const navigate = useNavigate();
  const listing = useQuery({
    ...bisectionsQuery,
    refetchInterval: (query) =>
      query.state.data?.bisections.some(({ status }) => status === "running") ? 1000 : false,
  });
  return (
    <ListPage title="Bisections" note="Find the last step from which a failing run can still succeed.">
      <LoadedList listing={listing}>
        {({ bisections }) => (
          <RowTable
            name="Bisections"
            columns={COLUMNS}
            rows={bisections}
            empty={<NoBisections />}
            onOpen={(bisection) => void navigate(paths.bisection(bisection.id))}
          />
        )}
      </LoadedList>
    </ListPage>
  );
}

function NoBisections(): ReactElement {
  return (
    <EmptyState
      icon={<IconStethoscope size={28} stroke={1.5} />}
      title="No bisections yet"
      action={<Link {...paths.runs()}>Go to runs</Link>}
    >
      Open a failed run and choose <b>Bisect: where did it go wrong?</b> under Examine, or press <b>b</b>.
    </EmptyState>
  );
}

const COLUMNS: readonly [Column<BisectionSummary>, ...Column<BisectionSummary>[]] = [
  {
    title: "Run",
    cell: (bisection) => (
      <Link {...paths.bisection(bisection.id)} className={list.name}>
        {bisection.run_name}
      </Link>
    ),
  },
  { title: "State", cell: ({ status }) => <BisectionState status={status} /> },
  {
    title: "Finding",
    className: list.wide,
    cell: ({ status, sentence, error }) => (status === "failed" ? error : sentence || "The first repeats are running."),
  },
  { title: "Probes", className: list.figure, cell: ({ probes }) => count(probes) },
  { title: "Live calls", className: list.figure, cell: (bisection) => count(bisection.live_calls) },
  { title: "Cost", className: list.figure, cell: (bisection) => money(bisection.cost_usd) },
  {
    title: "Started",
    className: list.figure,
    cell: (bisection) => timeAgo(bisection.created_at),
    hint: (bisection) => fullTime(bisection.created_at),
  },
];
