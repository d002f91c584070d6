import { expect, test } from "vitest";
import { aStep } from "@/testing/factories";
import { firstVisible, layout, NODE_LIMIT, provenance, spanOf } from "./graph";
import { indexSteps, noFilter, visibleRows } from "./tree";

const rowsOf = (steps: ReturnType<typeof aStep>[]) => visibleRows(indexSteps(steps), new Set(), noFilter);

test("connects children to parent or predecessor", () => {
  const { edges } = layout(
    rowsOf([1, 2, 3].map((sequence_no) => aStep({ sequence_no, parent: sequence_no === 1 ? null : 1 }))),
  );
  expect(edges).toEqual([
    { source: 1, target: 2, kind: "inside" },
    { source: 2, target: 3, kind: "next" },
  ]);
});

test("truncates a long run", () => {
  const rows = rowsOf(Array.from({ length: NODE_LIMIT + 7 }, (_, index) => aStep({ sequence_no: index + 1 })));
  expect(layout(rows)).toMatchObject({ hidden: 7 });
  expect(layout(rows).nodes).toHaveLength(NODE_LIMIT);
});

test("shows the part around the selected step", () => {
  const rows = rowsOf(Array.from({ length: 3 * NODE_LIMIT }, (_, index) => aStep({ sequence_no: index + 1 })));
  for (const selectedNumber of [1, 299, 300, 301, 777, 3 * NODE_LIMIT]) {
    const numbers = layout(rows, firstVisible(rows, selectedNumber)).nodes.map(({ sequenceNo }) => sequenceNo);
    expect(numbers).toContain(selectedNumber);
    expect(numbers).toHaveLength(NODE_LIMIT);
  }
  expect(firstVisible(rows, 310)).toBe(firstVisible(rows, 480));
  expect(firstVisible(rows, null)).toBe(0);
  expect(firstVisible(rows.slice(0, 9), 9)).toBe(0);
});

test("draws the best edge per visible pair", () => {
  const { nodes } = layout(rowsOf([2, 3, 5].map((sequence_no) => aStep({ sequence_no }))));
  const edges = [
    { producer: 2, consumer: 3, kind: "text" as const },
    { producer: 2, consumer: 3, kind: "tool_call_id" as const },
    { producer: 2, consumer: 4, kind: "digest" as const },
    { producer: 3, consumer: 5, kind: "history" as const },
  ];
  expect(provenance(edges, nodes)).toEqual([edges[1], edges[3]]);
  expect(spanOf(nodes)).toEqual({ first: 2, last: 5 });
});
