import { VisuallyHidden } from "@mantine/core";
import {
  createColumnHelper,
  createSortedRowModel,
  rowSortingFeature,
  sortFn_basic,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { useNavigate } from "@tanstack/react-router";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import { useMemo, type ReactElement, type ReactNode } from "react";
import type { ExperimentRowView } from "@/api/schema";
import { duration, money, tokens } from "@/ui/format/numbers";
import { LabelBar } from "@/features/labels/LabelBar";
import { useRowSelection } from "@/ui/keyboard/useRowSelection";
import { score } from "@/domain/diffs/score";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { costOf, passShare, tokensOf } from "../measures";
import { Checks, Choice, Choose, Links, Settings, State, toolChanges, Tools, type RowChoice } from "./resultCells";
import { rowWords } from "./rowStatus";
import classes from "../Experiments.module.css";
import list from "@/ui/ListPage.module.css";

interface Props extends RowChoice {
  rows: readonly ExperimentRowView[];
  hasChecks: boolean;
}

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns: { basic: sortFn_basic },
});
const helper = createColumnHelper<typeof features, ExperimentRowView>();
type CellRenderer = (row: ExperimentRowView) => ReactNode;
type Value = string | number | undefined;

const column = (id: string, title: string, value: (row: ExperimentRowView) => Value, draw: CellRenderer) =>
  helper.accessor(value, {
    id,
    header: title,
    cell: ({ row }) => draw(row.original),
    sortFn: "basic",
    sortUndefined: "last",
  });

const figure = (
  id: string,
  title: string,
  valueOf: (row: ExperimentRowView) => number | null,
  format: (value: number) => string,
) =>
  column(
    id,
    title,
    (row) => valueOf(row) ?? undefined,
    (row) => {
      const value = valueOf(row);
      return value === null ? "–" : format(value);
    },
  );

const columns = [
  helper.display({
    id: "choose",
    header: () => <VisuallyHidden>Choose</VisuallyHidden>,
    cell: ({ row }) => <Choose row={row.original} />,
  }),
  column(
    "settings",
    "Settings",
    // In the order of the request.
    (row) => row.cell,
    (row) => <Settings row={row} />,
  ),
  column(
    "state",
    "State",
    (row) => rowWords(row).title,
    (row) => <State row={row} />,
  ),
  column(
    "checks",
    "Checks",
    (row) => passShare(row) ?? undefined,
    (row) => <Checks row={row} />,
  ),
  figure("ars", "Similarity", (row) => row.ars, score),
  figure("similarity", "Answer similarity", (row) => row.output_similarity, score),
  figure("tokens", "Tokens", tokensOf, tokens),
  figure("cost", "Cost", costOf, money),
  figure("latency", "Latency", (row) => row.latency_ms, duration),
  column(
    "tools",
    "Tools",
    (row) => toolChanges(row),
    (row) => <Tools row={row} />,
  ),
  helper.display({ id: "labels", header: "Labels", cell: ({ row }) => <LabelBar counts={row.original.labels} /> }),
  helper.display({ id: "links", header: "Open", cell: ({ row }) => <Links row={row.original} /> }),
];
/** Columns of the cockpit alone. */
const ACTIONS = new Set(["choose", "links"]);
const columnsOf = (hasChecks: boolean, isReadOnly: boolean) =>
  helper.columns(columns.filter(({ id }) => (hasChecks || id !== "checks") && !(isReadOnly && ACTIONS.has(id ?? ""))));
const FIGURES = new Set(["ars", "similarity", "tokens", "cost", "latency", "checks"]);
/** Hidden where the window is too narrow for all: the heat map above and the diff show them. */
const FURTHER = new Set(["ars", "tokens", "latency", "tools", "labels"]);

const classOf = (column: string) =>
  [FIGURES.has(column) && list.figure, FURTHER.has(column) && classes.further].filter(Boolean).join(" ") || undefined;

/** One row per finished replay. Any two can be selected for a diff. */
export function ResultsTable({ rows, nameOf, hasChecks, selection, onChoose }: Props): ReactElement {
  const navigate = useNavigate();
  const data = useMemo(() => [...rows], [rows]);
  const isReadOnly = onChoose === null;
  const shownColumns = useMemo(() => columnsOf(hasChecks, isReadOnly), [hasChecks, isReadOnly]);
  const table = useTable({ features, columns: shownColumns, data });
  const visible = table.getRowModel().rows;
  const { selectedIndex, body } = useRowSelection("Results", visible.length, (index) => {
    const row = visible[index]?.original;
    if (row && !isReadOnly) void navigate(row.diff ? paths.diff(row.diff) : paths.replay(row.session));
  });
  const row = visible[selectedIndex]?.original;
  useShortcuts("Results", [
    ...(onChoose && row?.run
      ? [{ keys: "x", action: "Choose the row for a diff", run: () => onChoose(row.number) }]
      : []),
  ]);
  const context = useMemo(() => ({ nameOf, selection, onChoose }), [nameOf, selection, onChoose]);
  return (
    <Choice value={context}>
      <div className={list.scroll} tabIndex={0} role="group" aria-label="Results, scrollable">
        <table className={`${list.table} ${classes.table}`}>
          <thead>
            {table.getHeaderGroups().map((group) => (
              <tr key={group.id}>
                {group.headers.map((header) => {
                  const direction = header.column.getIsSorted();
                  return (
                    <th
                      key={header.id}
                      scope="col"
                      className={classOf(header.column.id)}
                      aria-sort={direction ? (direction === "asc" ? "ascending" : "descending") : undefined}
                    >
                      {header.column.getCanSort() ? (
                        <button
                          type="button"
                          className={classes.sort}
                          onClick={header.column.getToggleSortingHandler()}
                        >
                          <table.FlexRender header={header} />
                          {direction === "asc" && <IconArrowUp size={12} aria-hidden />}
                          {direction === "desc" && <IconArrowDown size={12} aria-hidden />}
                        </button>
                      ) : (
                        <table.FlexRender header={header} />
                      )}
                    </th>
                  );
                })}
              </tr>
            ))}
          </thead>
          <tbody ref={body}>
            {visible.map((row, index) => (
              <tr key={row.original.number} data-selected={index === selectedIndex}>
                {row.getAllCells().map((cell) => (
                  <td key={cell.id} className={classOf(cell.column.id)}>
                    <table.FlexRender cell={cell} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Choice>
  );
}
