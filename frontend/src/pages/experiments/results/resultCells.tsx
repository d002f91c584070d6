import { Checkbox } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { createContext, useContext, type ReactElement } from "react";
import type { ExperimentRowView } from "@/api/schema";
import { paths } from "@/app/paths";
import { CheckSummary } from "@/features/checks/CheckSummary";
import { StateChip } from "@/features/labels/StateChip";
import { rowWords } from "./rowStatus";
import classes from "../Experiments.module.css";
import list from "@/ui/ListPage.module.css";

export interface RowChoice {
  nameOf: (row: ExperimentRowView) => string;
  /** The rows chosen for a diff. */
  selection: readonly number[];
  /** Null: rows cannot be chosen, and link to nothing. */
  onChoose: ((row: number) => void) | null;
}

/** Passed by context: the columns are constant so that a focused cell stays mounted. */
export const Choice = createContext<RowChoice>({
  nameOf: () => "",
  selection: [],
  onChoose: null,
});

function useSampleName(row: ExperimentRowView): string {
  return `${useContext(Choice).nameOf(row)}, sample ${row.sample}`;
}

export function Choose({ row }: { row: ExperimentRowView }): ReactElement {
  const { selection, onChoose } = useContext(Choice);
  const name = useSampleName(row);
  return (
    <Checkbox
      checked={selection.includes(row.number)}
      disabled={row.run === null || !row.status.startsWith("completed")}
      onChange={() => onChoose?.(row.number)}
      aria-label={`Choose ${name} for a diff`}
    />
  );
}

export function Checks({ row }: { row: ExperimentRowView }): ReactElement {
  if (!row.unverified) return <CheckSummary checks={row.checks} />;
  return (
    <span className="muted" title={row.unverified}>
      unverified
    </span>
  );
}

export function Settings({ row }: { row: ExperimentRowView }): ReactElement {
  const { nameOf, onChoose } = useContext(Choice);
  return (
    <>
      {onChoose ? (
        <Link {...paths.replay(row.session)} className={list.name}>
          {nameOf(row)}
        </Link>
      ) : (
        <span className={list.name}>{nameOf(row)}</span>
      )}
      <span className={`${list.sub} ${classes.answer}`} title={row.answer || undefined}>
        sample {row.sample}
        {row.answer && ` · ${row.answer.slice(0, 300)}`}
      </span>
      {row.error && <span className={`${list.sub} failed`}>{row.error}</span>}
    </>
  );
}

export function State({ row }: { row: ExperimentRowView }): ReactElement {
  const { title, mark } = rowWords(row);
  return <StateChip mark={mark}>{title}</StateChip>;
}

export function toolChanges(row: ExperimentRowView): number | undefined {
  return row.new_tools === null ? undefined : row.new_tools + (row.unused_tools ?? 0);
}

export function Tools({ row }: { row: ExperimentRowView }): ReactElement {
  if (row.new_tools === null) return <>–</>;
  const words = [row.new_tools > 0 && `${row.new_tools} new`, !!row.unused_tools && `${row.unused_tools} unused`];
  return <span className={classes.tools}>{words.filter(Boolean).join(", ") || "same"}</span>;
}

export function Links({ row }: { row: ExperimentRowView }): ReactElement {
  const name = useSampleName(row);
  return (
    <span className={classes.links}>
      {row.diff && (
        <Link {...paths.diff(row.diff)} aria-label={`Diff of ${name} against the source`}>
          diff
        </Link>
      )}
      {row.run && (
        <Link {...paths.run(row.run)} aria-label={`Run of ${name}`}>
          run
        </Link>
      )}
    </span>
  );
}
