import { UnstyledButton } from "@mantine/core";
import { useMemo, useState, type ReactElement } from "react";
import type { DiffPlace, TextDiff } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { LineComments, moveBetweenLines } from "../comments/LineComments";
import { elide, foldRows, textRows, wordCount, type Segment, type TextBlock, type TextRow } from "./textDiff";
import classes from "./TextDiffView.module.css";

/** Blocks to render at first. */
const FIRST = 200;

interface Props {
  diff: TextDiff;
  isUnified: boolean;
  /** Where the comments on its lines belong. */
  place: DiffPlace;
}

/** A word-level diff with common lines aligned and unchanged stretches collapsed. */
export function TextDiffView({ diff, isUnified, place }: Props): ReactElement {
  const rows = useMemo(() => textRows(diff.spans), [diff.spans]);
  const blocks = useMemo(() => foldRows(rows), [rows]);
  const lines = useMemo(() => new Map(rows.map((row, index) => [row, index])), [rows]);
  const rowAt = (row: TextRow) => (
    <Row key={lines.get(row)} row={row} isUnified={isUnified} place={{ ...place, line: lines.get(row) ?? null }} />
  );
  const [limit, setLimit] = useState(FIRST);
  const remaining = blocks.length - limit;
  return (
    <div
      className={isUnified ? classes.unified : classes.split}
      tabIndex={0}
      role="group"
      aria-label="Text difference"
      onKeyDown={moveBetweenLines}
    >
      {blocks.slice(0, limit).map((block, index) => (
        <Block key={index} block={block} rowAt={rowAt} />
      ))}
      {remaining > 0 && (
        <UnstyledButton className={classes.fold} onClick={() => setLimit(blocks.length)}>
          Show {pluralize(remaining, "more passage")}
        </UnstyledButton>
      )}
      {diff.truncated && <p className={classes.note}>The texts are too long for a word-by-word comparison.</p>}
    </div>
  );
}

function Block({ block, rowAt }: { block: TextBlock; rowAt: (row: TextRow) => ReactElement }): ReactElement {
  const [open, setOpen] = useState(false);
  if (block.kind === "row") return rowAt(block.row);
  if (open) return <>{block.rows.map(rowAt)}</>;
  return (
    <UnstyledButton className={classes.fold} onClick={() => setOpen(true)}>
      {pluralize(block.rows.length, "unchanged line")}
    </UnstyledButton>
  );
}

function Row({ row, isUnified, place }: { row: TextRow; isUnified: boolean; place: DiffPlace }): ReactElement {
  return (
    <div className={classes.row}>
      {isUnified ? (
        <Cell segments={row.bothSides} changed={row.changed} />
      ) : (
        <>
          <Cell segments={row.base} changed={row.changed} />
          <Cell segments={row.candidate} changed={row.changed} right />
        </>
      )}
      <LineComments place={place} subjectWords="this line" />
    </div>
  );
}

function Cell(props: { segments: readonly Segment[]; changed: boolean; right?: boolean }): ReactElement {
  const { segments, changed, right } = props;
  const [isWhole, setWhole] = useState(false);
  const parts = changed && !isWhole ? elide(segments) : segments;
  return (
    <div className={changed ? classes.changed : classes.line} data-right={right}>
      {parts.map((part, index) => (
        <Piece key={index} part={part} onOpen={() => setWhole(true)} />
      ))}
    </div>
  );
}

function Piece({ part, onOpen }: { part: Segment; onOpen: () => void }): ReactElement {
  switch (part.op) {
    case "equal":
      return <span>{part.text}</span>;
    case "insert":
      return <ins>{part.text}</ins>;
    case "delete":
      return <del>{part.text}</del>;
    case "gap":
      return (
        <UnstyledButton className={classes.gap} onClick={onOpen}>
          … {pluralize(wordCount(part.text), "word")} …
        </UnstyledButton>
      );
    default:
      return part.op satisfies never;
  }
}
