import { useComputedColorScheme } from "@mantine/core";
import {
  Background,
  Controls,
  Handle,
  Position,
  ReactFlow,
  type Edge,
  type Node as FlowNode,
  type NodeProps,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useMemo, type ReactElement } from "react";
import type { PlannedStep } from "@/api/schema";
import { count } from "@/components/format";
import { LabelGlyph } from "@/components/LabelGlyph";
import { actionMark, isFailed, markOf } from "@/components/labels";
import { StepIcon } from "@/components/StepIcon";
import { layout, NODE_LIMIT } from "./graph";
import classes from "./StepGraph.module.css";
import type { Node } from "./tree";

interface Props {
  rows: Node[];
  selected: number | null;
  fork: number | null;
  planned: ReadonlyMap<number, PlannedStep> | null;
  onSelect: (sequenceNo: number) => void;
}
type StepFlowNode = FlowNode<{ row: Node; planned: PlannedStep | null; fork: boolean }, "step">;

/** The steps as a graph: what is inside what, and what follows what. */
export default function StepGraph({ rows, selected, fork, planned, onSelect }: Props): ReactElement {
  const scheme = useComputedColorScheme("light");
  const graph = useMemo(() => layout(rows), [rows]);
  const nodes = useMemo<StepFlowNode[]>(
    () =>
      graph.nodes.map(({ sequenceNo, x, y, row }) => ({
        id: String(sequenceNo),
        type: "step",
        position: { x, y },
        width: 220,
        height: 42,
        selected: sequenceNo === selected,
        ariaLabel: `${sequenceNo} ${row.step.type} ${row.step.name}`,
        data: { row, planned: planned?.get(sequenceNo) ?? null, fork: sequenceNo === fork },
      })),
    [graph, selected, fork, planned],
  );
  const edges = useMemo<Edge[]>(
    () =>
      graph.edges.map(({ from, to, kind }) => ({
        id: `${from}-${to}`,
        source: String(from),
        target: String(to),
        type: "smoothstep",
        targetHandle: kind,
        ...(kind === "inside" && { style: { strokeDasharray: "4 3" } }),
      })),
    [graph],
  );
  return (
    <div className={classes.graph}>
      {graph.hidden > 0 && (
        <p className={classes.note}>
          The first {count(NODE_LIMIT)} of {count(rows.length)} steps: a larger graph is neither readable nor quick.
          Fold or filter steps to bring others in.
        </p>
      )}
      <div className={classes.flow}>
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          colorMode={scheme}
          onNodeClick={(_, node) => onSelect(Number(node.id))}
          onNodesChange={(changes) => {
            for (const change of changes) if (change.type === "select" && change.selected) onSelect(Number(change.id));
          }}
          nodesDraggable={false}
          nodesConnectable={false}
          onlyRenderVisibleElements
          minZoom={0.1}
          fitView
          fitViewOptions={{ maxZoom: 1, nodes: nodes.slice(0, 12).map(({ id }) => ({ id })) }}
        >
          <Background gap={18} size={1} />
          <Controls showInteractive={false} />
        </ReactFlow>
      </div>
    </div>
  );
}

function StepNode({ data, selected }: NodeProps<StepFlowNode>): ReactElement {
  const { step } = data.row;
  const mark = data.planned ? actionMark[data.planned.action] : markOf(step);
  return (
    <div className={classes.node} data-selected={selected} data-fork={data.fork} data-failed={isFailed(step.status)}>
      <Handle
        id="next"
        type="target"
        position={Position.Top}
        className={`${classes.handle} ${classes.near}`}
        isConnectable={false}
      />
      <Handle id="inside" type="target" position={Position.Left} className={classes.handle} isConnectable={false} />
      <LabelGlyph mark={mark} />
      <StepIcon type={step.type} />
      <span className={classes.words}>
        <b className="ellipsis">{step.name || step.type}</b>
        <small className="ellipsis">{step.summary || step.type}</small>
      </span>
      <Handle
        type="source"
        position={Position.Bottom}
        className={`${classes.handle} ${classes.near}`}
        isConnectable={false}
      />
    </div>
  );
}
const nodeTypes = { step: StepNode };
