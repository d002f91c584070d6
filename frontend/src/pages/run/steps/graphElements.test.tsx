import { renderHook } from "@testing-library/react";
import { expect, test } from "vitest";
import { aStep } from "@/testing/factories";
import { layout } from "./graph";
import { useGraphElements } from "./graphElements";
import { indexSteps, noFilter, visibleRows } from "./tree";

const steps = Array.from({ length: 9 }, (_, index) => aStep({ sequence_no: index + 1 }));
const graph = layout(visibleRows(indexSteps(steps), new Set(), noFilter));
const visibleEdges = [
  { producer: 1, consumer: 3, kind: "text" as const },
  { producer: 5, consumer: 7, kind: "digest" as const },
];

test("a new selection leaves all that is elsewhere as it is", () => {
  const { result, rerender } = renderHook(
    (selectedNumber: number) => useGraphElements({ graph, visibleEdges, selectedNumber, fork: null, plans: null }),
    { initialProps: 3 },
  );
  const first = result.current;
  rerender(4);
  const { nodes, edges } = result.current;
  const changedNodes = nodes.filter((node, index) => node !== first.nodes[index]).map(({ id }) => id);
  expect(changedNodes).toEqual(["3", "4"]);
  expect(nodes.filter(({ selected }) => selected).map(({ id }) => id)).toEqual(["4"]);
  expect(edges.filter((edge, index) => edge !== first.edges[index]).map(({ id }) => id)).toEqual(["fed-1-3"]);
});
