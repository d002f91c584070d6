// The visible rows of the tree as nodes and edges, indented by depth, with time downwards.
import type { RunEdge } from "@/api/schema";
import type { Node } from "./tree";

/** Larger graphs are slow and hard to read. */
export const NODE_LIMIT = 400;

/** The first row to draw. Keeps the selected one visible, and moves rarely as the selection moves. */
export function firstVisible(rows: readonly Node[], selectedNumber: number | null): number {
  const index = rows.findIndex((row) => row.step.sequence_no === selectedNumber);
  const half = NODE_LIMIT / 2;
  const start = Math.max(0, Math.floor((index - half / 2) / half) * half);
  return Math.min(start, Math.max(0, rows.length - NODE_LIMIT));
}

export interface GraphNode {
  sequenceNo: number;
  x: number;
  y: number;
  row: Node;
}
export interface GraphEdge {
  source: number;
  target: number;
  /** A step inside another, or the next sibling. */
  kind: "inside" | "next";
}
/** The range of steps for which provenance is drawn. */
export function spanOf(nodes: readonly GraphNode[]): { first: number; last: number } {
  const numbers = nodes.map(({ sequenceNo }) => sequenceNo);
  return numbers.length === 0 ? { first: 1, last: 0 } : { first: Math.min(...numbers), last: Math.max(...numbers) };
}

/** The edges between visible steps, the most certain one per pair. */
export function provenance(edges: readonly RunEdge[], nodes: readonly GraphNode[]): RunEdge[] {
  const visibleNumbers = new Set(nodes.map(({ sequenceNo }) => sequenceNo));
  const best = new Map<string, RunEdge>();
  for (const edge of edges) {
    if (!visibleNumbers.has(edge.producer) || !visibleNumbers.has(edge.consumer)) continue;
    const pair = `${edge.producer}-${edge.consumer}`;
    const previous = best.get(pair);
    if (!previous || STRENGTH.indexOf(edge.kind) < STRENGTH.indexOf(previous.kind)) best.set(pair, edge);
  }
  return [...best.values()];
}

/** Kinds of edges, most certain first. */
export const STRENGTH: readonly RunEdge["kind"][] = ["tool_call_id", "link", "history", "digest", "text", "value"];

const COLUMN = 64;
const ROW = 58;

/** As many rows from `start` on as can be drawn. */
export function layout(rows: readonly Node[], start = 0): { nodes: GraphNode[]; edges: GraphEdge[]; hidden: number } {
  const visible = rows.slice(start, start + NODE_LIMIT);
  const visibleNumbers = new Set(visible.map((row) => row.step.sequence_no));
  const nodes = visible.map((row, index) => ({
    sequenceNo: row.step.sequence_no,
    x: row.depth * COLUMN,
    y: index * ROW,
    row,
  }));
  const edges: GraphEdge[] = [];
  const lastChild = new Map<number | null, number>();
  for (const { step } of visible) {
    const previous = lastChild.get(step.parent);
    if (previous !== undefined) edges.push({ source: previous, target: step.sequence_no, kind: "next" });
    else if (step.parent !== null && visibleNumbers.has(step.parent))
      edges.push({ source: step.parent, target: step.sequence_no, kind: "inside" });
    lastChild.set(step.parent, step.sequence_no);
  }
  return { nodes, edges, hidden: rows.length - visible.length };
}
