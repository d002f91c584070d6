import { Skeleton } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { ErrorState } from "./ErrorState";
import { useRows } from "./useRows";
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
      <header className={classes.header}>
        <div className="grow">
          <h1>{props.title}</h1>
          <p className={classes.note}>{props.note}</p>
        </div>
        {props.action}
      </header>
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
export function Loaded<Data>(props: { listing: Listing<Data>; children: (data: Data) => ReactElement }): ReactElement {
  const { data, error, refetch } = props.listing;
  return (
    <>
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data ? props.children(data) : !error && <Skeleton height={240} radius="md" />}
    </>
  );
}

interface Column {
  title: string;
  className?: string | undefined;
}

/** The rows of a list page: `j`, `k` and Enter work on them; `empty` says what to do when there are none. */
export function RowTable<Row extends { id: string }>(props: {
  name: string;
  columns: readonly Column[];
  rows: readonly Row[];
  empty: ReactElement;
  onOpen: (row: Row) => void;
  children: (row: Row) => ReactNode;
}): ReactElement {
  const { rows } = props;
  const { selected, body } = useRows(props.name, rows.length, (index) => {
    const row = rows[index];
    if (row) props.onOpen(row);
  });
  if (rows.length === 0) return props.empty;
  return (
    <div className={classes.scroll}>
      <table className={classes.table}>
        <thead>
          <tr>
            {props.columns.map(({ title, className }) => (
              <th key={title} scope="col" className={className}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, index) => (
            <tr key={row.id} data-selected={index === selected}>
              {props.children(row)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
