import { useNavigate } from "@tanstack/react-router";
import type { CSSProperties, MouseEvent, ReactElement, Ref } from "react";
import type { SearchHit } from "@/api/schema";
import { paths } from "@/app/paths";
import type { RunRowData } from "../families/listRows";
import type { OptionalColumn } from "./columnChoice";
import { Actions, Choose, COLUMNS, OutcomeCell } from "./columns";
import { NameCell } from "./NameCell";
import { SearchHitLine } from "./SearchHitLine";
import classes from "./RunsTable.module.css";

export interface RowProps {
  row: RunRowData;
  hit: SearchHit | undefined;
  isSelected: boolean;
  index: number;
  ref: Ref<HTMLDivElement>;
  style: CSSProperties;
  onFocus: () => void;
}

/** A run in the table. A click beside its controls opens it. */
export function RunRow({
  row,
  hit,
  isSelected,
  index,
  columns,
  style,
  ...slot
}: RowProps & { columns: readonly OptionalColumn[] }): ReactElement {
  const navigate = useNavigate();
  const { run, depth } = row;
  return (
    <div
      {...slot}
      style={{ ...style, "--depth": depth } as CSSProperties}
      data-fork={depth > 0}
      data-last={row.isLast}
      data-index={index}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      className={`${classes.slot} ${classes.row}`}
      onClick={(event) => {
        if (isOnRow(event) && !window.getSelection()?.toString()) void navigate(paths.run(run.id));
      }}
    >
      <div role="cell" className={classes.choose}>
        <Choose run={run} />
      </div>
      <div role="cell" className={classes.outcome}>
        <OutcomeCell run={run} />
      </div>
      <div role="cell" className={classes.name}>
        <NameCell row={row} />
      </div>
      {columns.map((column) => (
        <div key={column} role="cell" className={classes[column]}>
          {COLUMNS[column].cell(run)}
        </div>
      ))}
      <div role="cell" className={classes.menu}>
        <Actions run={run} />
      </div>
      {hit && (
        <div role="cell" className={classes.wideCell}>
          <SearchHitLine hit={hit} />
        </div>
      )}
    </div>
  );
}

/** Whether a click is on the row itself, not on one of its controls or in the menu that one of them opened. */
function isOnRow({ target, currentTarget }: MouseEvent): boolean {
  if (!(target instanceof Element) || !currentTarget.contains(target)) return false;
  return target.closest("a, label, input, button") === null;
}
