import { UnstyledButton } from "@mantine/core";
import { useMemo, useState, type ReactElement } from "react";
import type { TextDiff } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { elide, foldRows, textRows, wordCount, type Segment, type TextBlock, type TextRow } from "./textDiff";
import classes from "./TextDiffView.module.css";

/** Blocks to render at first. */
const FIRST = 200;

/** A word-level diff with common lines aligned and unchanged stretches collapsed. */
export function TextDiffView({ diff, isUnified }: { diff: TextDiff; isUnified: boolean }): ReactElement {
  const blocks = useMemo(() => foldRows(textRows(diff.spans)), [diff.spans]);
  const [limit, setLimit] = useState(FIRST);
  const remaining = blocks.length - limit;
  return (
    <div className={isUnified ? classes.unified : classes.split} tabIndex={0} role="group" aria-label="Text difference">
      {blocks.slice(0, limit).map((block, index) => (
        <Block key={index} block={block} isUnified={isUnified} />
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

function Block({ block, isUnified }: { block: TextBlock; isUnified: boolean }): ReactElement {
  const [open, setOpen] = useState(false);
  if (block.kind === "row") return <Row row={block.row} isUnified={isUnified} />;
  if (open) {
    return (
      <>
        {block.rows.map((row, index) => (
          <Row key={index} row={row} isUnified={isUnified} />
        ))}
      </>
    );
  }
  return (
    <UnstyledButton className={classes.fold} onClick={() => setOpen(true)}>
      {pluralize(block.rows.length, "unchanged line")}
    </UnstyledButton>
  );
}

function Row({ row, isUnified }: { row: TextRow; isUnified: boolean }): ReactElement {
  if (isUnified) return <Cell segments={row.bothSides} changed={row.changed} />;
  return (
    <>
      <Cell segments={row.base} changed={row.changed} />
      <Cell segments={row.candidate} changed={row.changed} right />
    </>
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
