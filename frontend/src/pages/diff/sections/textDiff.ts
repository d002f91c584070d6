/** A text diff cut into rows that both sides can be read along. */
import type { TextSpan } from "@/api/schema";

export interface Segment {
  op: TextSpan["op"] | "gap";
  text: string;
}

export interface TextRow {
  base: Segment[];
  candidate: Segment[];
  /** Both sides in one, in reading order. */
  bothSides: Segment[];
  changed: boolean;
}

export type TextBlock = { kind: "row"; row: TextRow } | { kind: "fold"; rows: TextRow[] };

/** Rows end at line breaks that both sides share, so equal lines stay beside each other. */
export function textRows(spans: readonly TextSpan[]): TextRow[] {
  const rows: TextRow[] = [];
  let row = emptyRow();
  for (const span of spans) {
    if (span.op !== "equal") {
      push(row, { op: span.op, text: span.text });
      continue;
    }
    const [first = "", ...rest] = span.text.split("\n");
    push(row, { op: "equal", text: first });
    for (const line of rest) {
      rows.push(row);
      row = emptyRow();
      push(row, { op: "equal", text: line });
    }
  }
  if (row.bothSides.length > 0 || rows.length === 0) rows.push(row);
  return rows;
}

function emptyRow(): TextRow {
  return { base: [], candidate: [], bothSides: [], changed: false };
}

function push(row: TextRow, segment: Segment): void {
  if (segment.text === "") return;
  row.bothSides.push(segment);
  if (segment.op !== "insert") row.base.push(segment);
  if (segment.op !== "delete") row.candidate.push(segment);
  if (segment.op !== "equal") row.changed = true;
}

/** Rows far from any change, taken together; `context` rows stay in sight on either side of a change. */
export function foldRows(rows: readonly TextRow[], context = 2): TextBlock[] {
  const nearby = nearChange(rows, context);
  const blocks: TextBlock[] = [];
  let hiddenRows: TextRow[] = [];
  const flush = () => {
    // A fold of one row would take as much room as the row.
    if (hiddenRows.length > 1) blocks.push({ kind: "fold", rows: hiddenRows });
    else blocks.push(...hiddenRows.map((row) => ({ kind: "row" as const, row })));
    hiddenRows = [];
  };
  rows.forEach((row, index) => {
    if (!nearby[index]) return hiddenRows.push(row);
    flush();
    return blocks.push({ kind: "row", row });
  });
  flush();
  return blocks;
}

function nearChange(rows: readonly TextRow[], context: number): boolean[] {
  const nearby = rows.map(() => false);
  rows.forEach((row, index) => {
    if (row.changed) nearby.fill(true, Math.max(0, index - context), index + context + 1);
  });
  return nearby;
}

/** How much of an unbroken equal passage stays in sight beside a change. */
const EDGE_LENGTH = 160;

/** Cuts the middle out of long equal passages of a changed row; the gap keeps its text, so that it can be opened. */
export function elide(segments: readonly Segment[]): Segment[] {
  return segments.flatMap((segment, index) => {
    const head = index === 0 ? 0 : EDGE_LENGTH;
    const tail = index === segments.length - 1 ? 0 : EDGE_LENGTH;
    const tooShort = segment.text.length < head + tail + 2 * EDGE_LENGTH;
    if (segment.op !== "equal" || tooShort || segments.length === 1) return [segment];
    const end = segment.text.length - tail;
    return [
      { op: "equal" as const, text: segment.text.slice(0, head) },
      { op: "gap" as const, text: segment.text.slice(head, end) },
      { op: "equal" as const, text: segment.text.slice(end) },
    ].filter((part) => part.text !== "");
  });
}

/** One side of the diff as it reads. */
export function sideText(spans: readonly TextSpan[], side: "base" | "candidate"): string {
  const opposite = side === "base" ? "insert" : "delete";
  return spans
    .filter((span) => span.op !== opposite)
    .map((span) => span.text)
    .join("");
}

export function wordCount(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}
