import { Button, CloseButton } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { acceptProposals, calibrate, calibrationsQuery, deleteCalibration } from "@/api/replays/calibrations";
import type { CalibrationSummary } from "@/api/schema";
import { paths } from "@/app/paths";
import { StateChip } from "@/features/labels/StateChip";
import { EmptyState } from "@/ui/EmptyState";
import { count, pluralize, timeAgo } from "@/ui/format/numbers";
import { LoadedList, RowTable, type Column } from "@/ui/ListPage";
import list from "@/ui/ListPage.module.css";
import { offerUndo } from "@/ui/offerUndo";
import { Page, PageHeader } from "@/ui/Page";
import classes from "./Calibration.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";
import { showFailure } from "@/ui/failure/failure";

/** Fields that a row names; its page shows all. */
const NAMED_FIELDS = 3;

const COLUMNS: readonly [Column<CalibrationSummary>, ...Column<CalibrationSummary>[]] = [
  { title: "Compared runs", cell: (row) => <Runs row={row} /> },
  { title: "Fields to ignore", cell: (row) => <Fields row={row} /> },
  { title: "Matches gained", className: list.figure, cell: ({ gain }) => count(gain), hint: gainWords },
  { title: "False matches", className: list.figure, cell: falseMatches, hint: falseMatchWords },
  { title: "Action", cell: (row) => <Actions row={row} /> },
];

/** Calibrations: which fields to ignore when recorded calls are matched. */
export function MatchingPage(): ReactElement {
  usePageTitle("Matching");
  const navigate = useNavigate();
  const calibrations = useQuery(calibrationsQuery);
  return (
    <Page>
      <PageHeader
        crumbs={[<Link {...paths.settings()}>Settings</Link>]}
        title="Matching"
        note="Fields such as request ids differ between two recordings of the same task. Ignore them, and replays find more recorded calls."
      />
      <section className="panel" aria-label="Calibrations">
        <LoadedList listing={calibrations}>
          {(data) => (
            <RowTable
              name="Calibrations"
              columns={COLUMNS}
              rows={data.calibrations}
              empty={<NoCalibrations />}
              onOpen={({ id }) => void navigate(paths.calibration(id))}
            />
          )}
        </LoadedList>
      </section>
    </Page>
  );
}

function NoCalibrations(): ReactElement {
  return (
    <EmptyState
      title="No calibrations yet"
      action={
        <Button variant="default" renderRoot={(props) => <Link {...paths.runs()} {...props} />}>
          Go to runs
        </Button>
      }
    >
      Select two recordings of the same task in the runs list, then “Find fields to ignore when matching calls” in the
      menu of the selection. Where a runner is online, the same in the menu of one run starts its agent twice.
    </EmptyState>
  );
}

function Runs({ row }: { row: CalibrationSummary }): ReactElement {
  return (
    <>
      <Link {...paths.calibration(row.id)}>
        {row.base_name} <span aria-label="and">↔</span> {row.candidate_name}
      </Link>
      <span className={list.sub}>
        {row.app} · {timeAgo(row.created_at)}
      </span>
    </>
  );
}

function Fields({ row }: { row: CalibrationSummary }): ReactElement {
  const pointers = [...new Set(row.fields.map(({ pointer }) => pointer))];
  if (pointers.length === 0) return <span className="muted">none</span>;
  const rest = pointers.length - NAMED_FIELDS;
  return (
    <span title={pointers.join("\n")}>
      {pointers.slice(0, NAMED_FIELDS).map((pointer) => (
        <code key={pointer} className={classes.field}>
          {pointer}
        </code>
      ))}
      {rest > 0 && <span className="muted">and {rest} more</span>}
    </span>
  );
}

function gainWords({ gain, fields }: CalibrationSummary): string {
  return `Ignoring ${pluralize(fields.length, "field")} makes ${pluralize(gain, "call")} of the two runs match.`;
}

function falseMatches({ collisions }: CalibrationSummary): ReactElement {
  return <span className={collisions > 0 ? "failed" : "muted"}>{collisions > 0 ? count(collisions) : "none"}</span>;
}

function falseMatchWords({ collisions }: CalibrationSummary): string {
  if (collisions === 0) return "No different calls would match.";
  return `${pluralize(collisions, "group")} of calls with different answers would match. Open the calibration to see them.`;
}

/** Apply the recommended fields, or delete the calibration. */
function Actions({ row }: { row: CalibrationSummary }): ReactElement {
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: calibrationsQuery.queryKey });
  const onError = (error: Error) => showFailure("Not changed", error);
  const apply = useMutation({
    mutationFn: () => acceptProposals(row.id, row.recommendations),
    onSuccess: async () => {
      await Promise.all([refresh(), client.invalidateQueries({ queryKey: ["ignore-lists", row.app] })]);
    },
    onError,
  });
  const remove = useMutation({
    mutationFn: () => deleteCalibration(row.id),
    onSuccess: async () => {
      await refresh();
      offerUndo("Calibration deleted", "The calibration was not restored", async () => {
        await calibrate(row.base, row.candidate);
        await refresh();
      });
    },
    onError,
  });
  return (
    <span className={classes.actions}>
      {row.recommendations.length > 0 ? (
        <Button
          variant="default"
          size="compact-sm"
          loading={apply.isPending}
          title="The fields without false matches whose values look like request ids or times"
          onClick={() => apply.mutate()}
        >
          Ignore {pluralize(row.recommendations.length, "recommended field")}
        </Button>
      ) : (
        row.ignored_count > 0 && <StateChip mark="exact">{`${count(row.ignored_count)} ignored`}</StateChip>
      )}
      <CloseButton
        size="sm"
        className={classes.delete}
        aria-label={`Delete the calibration of ${row.base_name} and ${row.candidate_name}`}
        title="Delete. Ignored fields stay ignored."
        disabled={remove.isPending}
        onClick={() => remove.mutate()}
      />
    </span>
  );
}
