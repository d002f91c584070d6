/** A text diff split into rows that align both sides. */
import type { TextSpan } from "@/api/schema";

export interface Segment {
  op: TextSpan["op"] | "gap";
  text: string;
}

export interface TextRow {
  base: Segment[];
  candidate: Segment[];
  /** Both sides merged in reading order. */
  bothSides: Segment[];
  changed: boolean;
}

export type TextBlock = { kind: "row"; row: TextRow } | { kind: "fold"; rows: TextRow[] };

/** Rows end at line breaks that both sides share, so that equal lines stay aligned. */
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

/** Collapse rows far from any change. `context` rows stay visible on either side of a change. */
export function foldRows(rows: readonly TextRow[], context = 2): TextBlock[] {
  const nearby = nearChange(rows, context);
  const blocks: TextBlock[] = [];
  let hiddenRows: TextRow[] = [];
  const flush = () => {
    // Collapsing a single row would save no space.
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

/** Characters of a long equal passage that stay visible next to a change. */
const EDGE_LENGTH = 160;

/** Cut the middle out of long equal passages of a changed row. The gap keeps its text, so it can be opened. */
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

/** The text of one side. */
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
