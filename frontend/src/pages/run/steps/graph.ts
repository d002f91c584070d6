// The visible rows of the tree as nodes and edges: indented by depth, time downwards.
import type { Node } from "./tree";

/** More than this is neither readable nor quick. */
export const NODE_LIMIT = 400;

export interface GraphNode {
  sequenceNo: number;
  x: number;
  y: number;
  row: Node;
}
export interface GraphEdge {
  from: number;
  to: number;
  /** A step inside another, or the next one beside it. */
  kind: "inside" | "next";
}
const COLUMN = 64;
const ROW = 58;

export function layout(rows: readonly Node[]): { nodes: GraphNode[]; edges: GraphEdge[]; hidden: number } {
  const shown = rows.slice(0, NODE_LIMIT);
  const present = new Set(shown.map((row) => row.step.sequence_no));
  const nodes = shown.map((row, index) => ({
    sequenceNo: row.step.sequence_no,
    x: row.depth * COLUMN,
    y: index * ROW,
    row,
  }));
  const edges: GraphEdge[] = [];
  const lastChild = new Map<number | null, number>();
  for (const { step } of shown) {
    const before = lastChild.get(step.parent);
    if (before !== undefined) edges.push({ from: before, to: step.sequence_no, kind: "next" });
    else if (step.parent !== null && present.has(step.parent))
      edges.push({ from: step.parent, to: step.sequence_no, kind: "inside" });
    lastChild.set(step.parent, step.sequence_no);
  }
  return { nodes, edges, hidden: rows.length - shown.length };
}
