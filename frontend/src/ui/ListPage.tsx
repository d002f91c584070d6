import { Skeleton } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { ErrorState } from "./ErrorState";
import { PageHeader } from "./Page";
import { useRowSelection } from "@/ui/keyboard/useRowSelection";
import classes from "./ListPage.module.css";

/** A page that is one list: title, what it is about, one action. */
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

/** A list once it is there; until then that it is awaited, or why it does not come. What came before stays. */
export function LoadedList<Data>(props: {
  listing: Listing<Data>;
  children: (data: Data) => ReactElement;
}): ReactElement {
  const { data, error, refetch } = props.listing;
  return (
    <>
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data ? props.children(data) : !error && <Skeleton height={240} radius="md" />}
    </>
  );
}

/** What a row shows under one title. The first column names the row. */
export interface Column<Row> {
  title: string;
  cell: (row: Row) => ReactNode;
  className?: string | undefined;
  /** More than there is room for. */
  hint?: (row: Row) => string;
}

/** The rows of a list page: `j`, `k` and Enter work on them; `empty` says what to do when there are none. */
export function RowTable<Row extends { id: string }>(props: {
  name: string;
  columns: readonly [Column<Row>, ...Column<Row>[]];
  rows: readonly Row[];
  empty: ReactElement;
  onOpen: (row: Row) => void;
}): ReactElement {
  const { rows, columns } = props;
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
            <tr key={row.id} data-selected={index === selectedIndex}>
              <th scope="row">{firstColumn.cell(row)}</th>
              {otherColumns.map(({ title, cell, className, hint }) => (
                <td key={title} data-label={title} className={className} title={hint?.(row)}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
