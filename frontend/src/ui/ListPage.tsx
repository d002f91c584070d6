import { Skeleton } from "@mantine/core";
import { Fragment, type ReactElement, type ReactNode } from "react";
import { ErrorState } from "./ErrorState";
import { PageHeader } from "./Page";
import { useRowSelection } from "@/ui/keyboard/useRowSelection";
import classes from "./ListPage.module.css";

/** A page with one list: title, description and an action. */
export function ListPage(props: {
  title: string;
  note: string;
  action?: ReactNode;
  children: ReactNode;
}): ReactElement {
  return (
    <div className={classes.page}>
      <PageHeader title={props.title} note={props.note}>
        {props.action}
      </PageHeader>
      <section className={`panel ${classes.body}`} aria-label={props.title}>
        {props.children}
      </section>
    </div>
  );
}

interface Listing<Data> {
  data: Data | undefined;
  error: Error | null;
  refetch: () => unknown;
}

/** A list, its loading state or its error. Earlier data stays visible. */
export function LoadedList<Data>(props: {
  listing: Listing<Data>;
  /** Pixels of the loading state: what follows a short list should not jump when it arrives. */
  height?: number;
  children: (data: Data) => ReactElement;
}): ReactElement {
  const { data, error, refetch } = props.listing;
  return (
    <>
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data ? props.children(data) : !error && <Skeleton height={props.height ?? 240} radius="md" />}
    </>
  );
}

/** A column of a list. The first column names the row. */
export interface Column<Row> {
  title: string;
  cell: (row: Row) => ReactNode;
  className?: string | undefined;
  /** Full text for a tooltip. */
  hint?: (row: Row) => string;
}

/**
 * The rows of a list page, with `j`, `k` and Enter. `empty` is shown without rows.
 * `groupOf`: the title above each sequence of rows with the same one.
 */
export function RowTable<Row extends { id: string }>(props: {
  name: string;
  columns: readonly [Column<Row>, ...Column<Row>[]];
  rows: readonly Row[];
  empty: ReactElement;
  groupOf?: (row: Row) => string;
  onOpen: (row: Row) => void;
}): ReactElement {
  const { rows, columns, groupOf } = props;
  const groups = rows.map((row) => groupOf?.(row));
  const [firstColumn, ...otherColumns] = columns;
  const { selectedIndex, body } = useRowSelection(props.name, rows.length, (index) => {
    const row = rows[index];
    if (row) props.onOpen(row);
  });
  if (rows.length === 0) return props.empty;
  return (
    <div className={classes.scroll}>
      <table className={`${classes.table} ${classes.stacking}`}>
        <thead>
          <tr>
            {columns.map(({ title, className }) => (
              <th key={title} scope="col" className={className}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, index) => (
            <Fragment key={row.id}>
              {groups[index] !== groups[index - 1] && (
                <tr className={classes.group}>
                  <th scope="colgroup">{groups[index]}</th>
                </tr>
              )}
              <tr data-selected={index === selectedIndex}>
                <th scope="row">{firstColumn.cell(row)}</th>
                {otherColumns.map(({ title, cell, className, hint }) => (
                  <td key={title} data-label={title} className={className} title={hint?.(row)}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}
