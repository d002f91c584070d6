import { useContext, type CSSProperties, type ReactElement, type Ref } from "react";
import { Link } from "@tanstack/react-router";
import { paths } from "@/app/paths";
import type { NoteRowData } from "../families/listRows";
import { RunRows } from "./rowContext";
import classes from "./RunsTable.module.css";

interface Props {
  row: NoteRowData;
  index: number;
  isCard: boolean;
  ref: Ref<HTMLDivElement>;
  style: CSSProperties;
  onFocus: () => void;
}

/** Forks of a run that are not shown, and a way to see them. */
export function NoteRow({ row, index, isCard, ...slot }: Props): ReactElement {
  const { onShowAllForks } = useContext(RunRows);
  const content = (
    <>
      {row.text}{" "}
      {row.isFiltered ? (
        <button type="button" className={classes.textButton} onClick={() => onShowAllForks(row.root)}>
          Show them
        </button>
      ) : (
        <Link {...paths.tree(row.root)}>Open the tree</Link>
      )}
    </>
  );
  if (isCard) {
    return (
      <div {...slot} data-index={index} role="listitem" className={`${classes.slot} ${classes.note}`}>
        {content}
      </div>
    );
  }
  return (
    <div
      {...slot}
      data-index={index}
      role="row"
      aria-rowindex={index + 2}
      className={`${classes.slot} ${classes.note}`}
    >
      <div role="cell">{content}</div>
    </div>
  );
}
