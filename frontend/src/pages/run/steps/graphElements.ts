import { MarkerType, type Edge, type Node as FlowNode } from "@xyflow/react";
import { useMemo } from "react";
import type { RunEdge } from "@/api/schema";
import type { PlanAction } from "@/domain/steps/labels";
import { edgeWords } from "../edgeKinds";
import { withText } from "@/ui/format/textSize";
import { actionOf, type StepPlans } from "../stepPlans";
import type { layout } from "./graph";
import type { Node } from "./tree";

export type StepFlowNode = FlowNode<{ row: Node; action: PlanAction | null; fork: boolean }, "step">;

export const WIDTH = withText(220);
export const HEIGHT = withText(42);

/** Line style by kind of provenance: the more certain, the more solid. */
export const dashes: Record<RunEdge["kind"], string | undefined> = {
  tool_call_id: undefined,
  link: "12 4",
  history: "7 4",
  digest: "2 3",
  text: "1 6",
  value: "1 10",
};

interface Props {
  graph: Pick<ReturnType<typeof layout>, "nodes" | "edges">;
  /** The data flow between the nodes. */
  visibleEdges: readonly RunEdge[];
  selectedNumber: number | null;
  fork: number | null;
  plans: StepPlans | null;
}

/**
 * The nodes and edges of a graph. A new selection changes only those at the steps it moves between: the others stay the
 * same objects, which the library need not read again.
 */
export function useGraphElements({ graph, visibleEdges, selectedNumber, fork, plans }: Props) {
  const unselectedNodes = useMemo<StepFlowNode[]>(
    () =>
      graph.nodes.map(({ sequenceNo, x, y, row }) => ({
        id: String(sequenceNo),
        type: "step",
        position: { x: withText(x), y: withText(y) },
        width: WIDTH,
        height: HEIGHT,
        selected: false,
        ariaLabel: `${sequenceNo} ${row.step.type} ${row.step.name}`,
        data: { row, action: actionOf(sequenceNo, plans, fork), fork: sequenceNo === fork },
      })),
    [graph, fork, plans],
  );
  const nodes = useMemo(
    () => unselectedNodes.map((node) => (node.id === String(selectedNumber) ? { ...node, selected: true } : node)),
    [unselectedNodes, selectedNumber],
  );
  const orderEdges = useMemo<Edge[]>(
    () =>
      graph.edges.map(({ source, target, kind }) => ({
        id: `${source}-${target}`,
        source: String(source),
        target: String(target),
        type: "smoothstep",
        sourceHandle: "after",
        targetHandle: kind,
        focusable: false,
      })),
    [graph],
  );
  const unselectedEdges = useMemo(() => visibleEdges.map((edge) => fedEdge(edge, false)), [visibleEdges]);
  const edges = useMemo<Edge[]>(
    () => [
      ...orderEdges,
      ...visibleEdges.map((edge, index) =>
        isAt(edge, selectedNumber) ? fedEdge(edge, true) : (unselectedEdges[index] ?? fedEdge(edge, false)),
      ),
    ],
    [orderEdges, unselectedEdges, visibleEdges, selectedNumber],
  );
  return { nodes, edges };
}

function isAt({ producer, consumer }: RunEdge, sequenceNo: number | null): boolean {
  return producer === sequenceNo || consumer === sequenceNo;
}

function fedEdge({ producer, consumer, kind }: RunEdge, isNearSelection: boolean): Edge {
  return {
    id: `fed-${producer}-${consumer}`,
    source: String(producer),
    target: String(consumer),
    sourceHandle: "gives",
    targetHandle: "takes",
    type: "fed",
    focusable: false,
    zIndex: isNearSelection ? 2 : 1,
    markerEnd: {
      type: MarkerType.ArrowClosed,
      width: 14,
      height: 14,
      color: isNearSelection ? "var(--accent)" : "var(--live)",
    },
    ariaLabel: `Step ${producer} fed step ${consumer}: ${edgeWords[kind]}`,
    style: {
      stroke: isNearSelection ? "var(--accent)" : "var(--live)",
      strokeWidth: isNearSelection ? 2 : 1.25,
      ...(dashes[kind] !== undefined && { strokeDasharray: dashes[kind] }),
    },
  };
}
