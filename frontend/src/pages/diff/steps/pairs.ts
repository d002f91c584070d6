/** The aligned steps as rows: a move has two rows, unchanged stretches are collapsed. */
import type { AlignedPair, SectionItem, StepRef } from "@/api/schema";

export type PairRow =
  | { kind: "pair"; pair: AlignedPair; base: StepRef | null; candidate: StepRef | null }
  | { kind: "moved-from"; pair: AlignedPair; base: StepRef; candidate: null }
  | { kind: "moved-to"; pair: AlignedPair; base: null; candidate: StepRef }
  | { kind: "fold"; count: number; pairs: AlignedPair[] };

/** The key of a pair by its step numbers: `5-5`, `7-`, `-8`. Stable and safe in URLs. */
export function pairKey(pair: { base: StepRef | null; candidate: StepRef | null }): string {
  return `${pair.base?.sequence_no ?? ""}-${pair.candidate?.sequence_no ?? ""}`;
}

function isDifference(pair: AlignedPair): boolean {
  return pair.relation !== "same";
}

/** Rows in the order of both runs. A moved pair has two rows, joined by a connector. */
export function pairRows(
  pairs: readonly AlignedPair[],
  changedOnly: boolean,
  openFolds: ReadonlySet<string>,
): PairRow[] {
  const rows = withMoves(pairs);
  return changedOnly ? foldSame(rows, openFolds) : rows;
}

function withMoves(pairs: readonly AlignedPair[]): PairRow[] {
  const moves = pairs.filter(isMove);
  const sources = [...moves].sort((a, b) => number(a.base) - number(b.base));
  const targets = [...moves].sort((a, b) => number(a.candidate) - number(b.candidate));
  const rows: PairRow[] = [];
  const addMoves = (limit: StepRef | null, queue: AlignedPair[], side: "base" | "candidate") => {
    while (queue[0] && (!limit || number(queue[0][side]) < limit.sequence_no))
      rows.push(end(queue.shift() as AlignedPair, side));
  };
  for (const pair of pairs) {
    if (isMove(pair)) continue;
    if (pair.base) addMoves(pair.base, sources, "base");
    if (pair.candidate) addMoves(pair.candidate, targets, "candidate");
    rows.push({ kind: "pair", pair, base: pair.base, candidate: pair.candidate });
  }
  addMoves(null, sources, "base");
  addMoves(null, targets, "candidate");
  return rows;
}

function isMove(pair: AlignedPair): boolean {
  return pair.relation === "moved" && pair.base !== null && pair.candidate !== null;
}

function end(pair: AlignedPair, side: "base" | "candidate"): PairRow {
  return side === "base"
    ? { kind: "moved-from", pair, base: pair.base as StepRef, candidate: null }
    : { kind: "moved-to", pair, base: null, candidate: pair.candidate as StepRef };
}

function number(step: StepRef | null): number {
  return step?.sequence_no ?? 0;
}

/** Unchanged pairs that stay visible on either side of a difference. */
const CONTEXT = 1;

function foldSame(rows: readonly PairRow[], openFolds: ReadonlySet<string>): PairRow[] {
  const nearby = rows.map(() => false);
  rows.forEach((row, index) => {
    if (row.kind !== "pair" || isDifference(row.pair))
      nearby.fill(true, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  });
  const blocks: PairRow[] = [];
  let hiddenRows: PairRow[] = [];
  const flush = () => {
    const pairs = hiddenRows.flatMap((row) => (row.kind === "fold" ? [] : [row.pair]));
    const first = pairs[0];
    if (hiddenRows.length < 2 || (first && openFolds.has(pairKey(first)))) blocks.push(...hiddenRows);
    else blocks.push({ kind: "fold", count: pairs.length, pairs });
    hiddenRows = [];
  };
  rows.forEach((row, index) => {
    if (!nearby[index]) return hiddenRows.push(row);
    flush();
    return blocks.push(row);
  });
  flush();
  return blocks;
}

export function rowKey(row: PairRow): string {
  if (row.kind === "fold") return `fold ${row.pairs[0] ? pairKey(row.pairs[0]) : ""}`;
  return `${row.kind} ${pairKey(row.pair)}`;
}

/** Keys of the differing pairs, without duplicates, in row order. */
export function differences(rows: readonly PairRow[]): string[] {
  const keys = rows.flatMap((row) => (row.kind !== "fold" && isDifference(row.pair) ? [pairKey(row.pair)] : []));
  return [...new Set(keys)];
}

/** The difference after or before the current one, wrapping around. */
export function nextDifference(keys: readonly string[], current: string | null, step: 1 | -1): string | null {
  if (keys.length === 0) return null;
  const index = current === null ? -1 : keys.indexOf(current);
  if (index < 0) return (step === 1 ? keys[0] : keys.at(-1)) ?? null;
  return keys[(index + step + keys.length) % keys.length] ?? null;
}

export interface Connector {
  key: string;
  startRow: number;
  endRow: number;
}

/** The row numbers of both ends of every move. */
export function connectors(rows: readonly PairRow[]): Connector[] {
  const starts = new Map<string, number>();
  rows.forEach((row, index) => row.kind === "moved-from" && starts.set(pairKey(row.pair), index));
  return rows.flatMap((row, index) => {
    if (row.kind !== "moved-to") return [];
    const key = pairKey(row.pair);
    const start = starts.get(key);
    return start === undefined ? [] : [{ key, startRow: start, endRow: index }];
  });
}

/** Whether an item of a section belongs to this pair. */
export function concerns(item: SectionItem, key: string): boolean {
  const [base, candidate] = key.split("-");
  const isBase = item.base !== null && String(item.base.sequence_no) === base;
  const isCandidate = item.candidate !== null && String(item.candidate.sequence_no) === candidate;
  return (isBase || item.base === null) && (isCandidate || item.candidate === null) && (isBase || isCandidate);
}

export function relationCounts(pairs: readonly AlignedPair[]): Record<AlignedPair["relation"], number> {
  const counts = { same: 0, changed: 0, moved: 0, added: 0, removed: 0 };
  for (const pair of pairs) counts[pair.relation] += 1;
  return counts;
}

export function differenceCount({ same: _, ...counts }: Record<AlignedPair["relation"], number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export const PAIRING_METHOD: Record<AlignedPair["found_by"], string> = {
  lineage: "lineage (one was copied from the other)",
  signature: "equal signatures",
  sequence: "type, name and order",
  similarity: "similar content",
  none: "no partner",
};
