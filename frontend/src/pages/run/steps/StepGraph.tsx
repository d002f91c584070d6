import { useComputedColorScheme } from "@mantine/core";
import {
  Background,
  BaseEdge,
  Controls,
  Handle,
  Position,
  ReactFlow,
  useReactFlow,
  useStoreApi,
  type EdgeProps,
  type NodeProps,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useMemo, type ReactElement } from "react";
import { edgesQuery } from "@/api/runs/runs";
import type { RunEdge } from "@/api/schema";
import { count } from "@/ui/format/numbers";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { isFailed, plannedMark } from "@/domain/steps/labels";
import { StepIcon } from "@/features/steps/StepIcon";
import { failureWords } from "@/ui/failure/failure";
import { useSelectedNumber } from "../selection";
import type { StepPlans } from "../stepPlans";
import { edgeWords } from "../edgeKinds";
import { firstVisible, layout, NODE_LIMIT, provenance, spanOf, STRENGTH, type GraphNode } from "./graph";
import { dashes, HEIGHT, useGraphElements, WIDTH, type StepFlowNode } from "./graphElements";
import classes from "./StepGraph.module.css";
import type { Node } from "./tree";

interface Props {
  run: string;
  rows: Node[];
  fork: number | null;
  plans: StepPlans | null;
  onSelect: (sequenceNo: number) => void;
}

const VISIBLE_LIMIT = 12;

/** The steps as a graph: containment and order, with the data flow on the right. */
export default function StepGraph({ run, rows, fork, plans, onSelect }: Props): ReactElement {
  const selectedNumber = useSelectedNumber();
  const scheme = useComputedColorScheme("light");
  const start = firstVisible(rows, selectedNumber);
  const graph = useMemo(() => layout(rows, start), [rows, start]);
  const provenanceEdges = useQuery({ ...edgesQuery(run, spanOf(graph.nodes)), enabled: graph.nodes.length > 0 });
  const visibleEdges = useMemo(
    () => provenance(provenanceEdges.data ?? [], graph.nodes),
    [provenanceEdges.data, graph],
  );
  const { nodes, edges } = useGraphElements({ graph, visibleEdges, selectedNumber, fork, plans });
  return (
    <div className={classes.graph}>
      {graph.hidden > 0 && (
        <p className={classes.note}>
          {count(NODE_LIMIT)} of {count(rows.length)} steps, centered on the selected one. Larger graphs are slow and
          hard to read; fold or filter steps to see others.
        </p>
      )}
      {provenanceEdges.error && (
        <p className={classes.note}>The data flow could not be loaded. {failureWords(provenanceEdges.error)}</p>
      )}
      <div className={classes.flow}>
        <ReactFlow
          key={start}
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          edgeTypes={edgeTypes}
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
          fitViewOptions={{ maxZoom: 1, nodes: initialNodes(graph.nodes, selectedNumber) }}
        >
          <FollowSelection node={graph.nodes.find(({ sequenceNo }) => sequenceNo === selectedNumber)} />
          <Background gap={18} size={1} />
          <Controls showInteractive={false} />
        </ReactFlow>
      </div>
      <Legend kinds={STRENGTH.filter((kind) => visibleEdges.some((edge) => edge.kind === kind))} />
    </div>
  );
}

/** The nodes that are visible at first, centred on the selected one. */
function initialNodes(nodes: readonly GraphNode[], selectedNumber: number | null): { id: string }[] {
  const index = nodes.findIndex(({ sequenceNo }) => sequenceNo === selectedNumber);
  const first = Math.max(0, Math.min(index - VISIBLE_LIMIT / 2, nodes.length - VISIBLE_LIMIT));
  return nodes.slice(first, first + VISIBLE_LIMIT).map(({ sequenceNo }) => ({ id: String(sequenceNo) }));
}

/** Move the view when the selected step is off screen. */
function FollowSelection({ node }: { node: GraphNode | undefined }): null {
  const flow = useReactFlow();
  const store = useStoreApi();
  const centerSelection = useEffectEvent(() => {
    const { width, height } = store.getState();
    if (!node || height === 0) return;
    const { x, y, zoom } = flow.getViewport();
    const [left, top] = [node.x * zoom + x, node.y * zoom + y];
    const isSeen = left >= 0 && top >= 0 && left + WIDTH * zoom <= width && top + HEIGHT * zoom <= height;
    if (!isSeen) void flow.setCenter(node.x + WIDTH / 2, node.y + HEIGHT / 2, { zoom });
  });
  useEffect(() => centerSelection(), [node?.sequenceNo]);
  return null;
}

function Legend({ kinds }: { kinds: readonly RunEdge["kind"][] }): ReactElement | null {
  if (kinds.length === 0) return null;
  return (
    <ul className={classes.legend} aria-label="Lines on the right: evidence for the data flow">
      {kinds.map((kind) => (
        <li key={kind}>
          <svg width="26" height="6" aria-hidden>
            <line x1="0" x2="26" y1="3" y2="3" stroke="currentColor" strokeWidth="1.5" strokeDasharray={dashes[kind]} />
          </svg>
          {edgeWords[kind]}
        </li>
      ))}
    </ul>
  );
}

function StepNode({ data, selected }: NodeProps<StepFlowNode>): ReactElement {
  const { step } = data.row;
  const mark = plannedMark(step, data.action);
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
        id="takes"
        type="target"
        position={Position.Right}
        className={`${classes.handle} ${classes.upper}`}
        isConnectable={false}
      />
      <Handle
        id="gives"
        type="source"
        position={Position.Right}
        className={`${classes.handle} ${classes.lower}`}
        isConnectable={false}
      />
      <Handle
        id="after"
        type="source"
        position={Position.Bottom}
        className={`${classes.handle} ${classes.near}`}
        isConnectable={false}
      />
    </div>
  );
}
const nodeTypes = { step: StepNode };

/** An arc on the right of the column. Longer distances reach further out, so that lines do not overlap. */
function FedEdge({ sourceX, sourceY, targetX, targetY, style, markerEnd }: EdgeProps): ReactElement {
  const right = Math.max(sourceX, targetX) + 18 + Math.min(120, Math.abs(targetY - sourceY) * 0.3);
  const path = `M${sourceX},${sourceY} C${right},${sourceY} ${right},${targetY} ${targetX},${targetY}`;
  return <BaseEdge path={path} {...(style && { style })} {...(markerEnd && { markerEnd })} />;
}
const edgeTypes = { fed: FedEdge };
