import { VisuallyHidden } from "@mantine/core";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import { useContext, type ReactElement } from "react";
import { nextSort, sortDirection, SORT_COLUMNS, type SortColumnName } from "../sort";
import type { OptionalColumn } from "./columnChoice";
import { ChooseAll, COLUMNS } from "./columns";
import { RunRows } from "./rowContext";
import classes from "./RunsTable.module.css";

interface Sorting {
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
}

export function TableHead({ columns, ...sorting }: Sorting & { columns: readonly OptionalColumn[] }): ReactElement {
  const { isNested } = useContext(RunRows);
  return (
    <div role="rowgroup" className={classes.head}>
      <div role="row" aria-rowindex={1} className={classes.row}>
        <div role="columnheader" className={classes.choose}>
          <ChooseAll />
        </div>
        <SortHead {...sorting} column="outcome" className={undefined} />
        <SortHead {...sorting} column="name" className={isNested ? classes.nested : undefined} />
        {columns.map((column) =>
          isSortColumn(column) ? (
            <SortHead key={column} {...sorting} column={column} className={classes[column]} />
          ) : (
            <div key={column} role="columnheader" className={classes[column]}>
              {COLUMNS[column].title}
            </div>
          ),
        )}
        <div role="columnheader">
          <VisuallyHidden>Actions</VisuallyHidden>
        </div>
      </div>
    </div>
  );
}

/** The head of a column that a click sorts by. */
function SortHead(props: Sorting & { column: SortColumnName; className: string | undefined }): ReactElement {
  const { sort, onSort, column, className } = props;
  const direction = sortDirection(sort, column);
  return (
    <div role="columnheader" className={className} aria-sort={direction}>
      <button type="button" className={classes.sort} onClick={() => onSort(nextSort(sort, column))}>
        {direction === "ascending" && <IconArrowUp size={13} aria-hidden />}
        {direction === "descending" && <IconArrowDown size={13} aria-hidden />}
        {SORT_COLUMNS[column].title}
      </button>
    </div>
  );
}

function isSortColumn(column: string): column is SortColumnName {
  return column in SORT_COLUMNS;
}
