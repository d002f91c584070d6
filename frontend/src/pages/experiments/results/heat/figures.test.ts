import { expect, test } from "vitest";
import type { CellView } from "@/api/schema";
import { figureOf, remarks, scaleOf, scaleText } from "./figures";

const cell = (more: Partial<CellView>) =>
  ({
    rows: 4,
    finished: 4,
    failed: 0,
    unverified: 0,
    pass_rate: null,
    pass_interval: null,
    cost_usd: null,
    latency_ms: null,
    ...more,
  }) as CellView;

test("a rate is drawn with its interval", () => {
  const figure = figureOf(cell({ pass_rate: 0.5, pass_interval: { low: 0.15, high: 0.85 } }), "pass", {
    low: 0,
    high: 1,
  });
  expect(figure).toEqual({ text: "50 %", interval: "15–85 %", position: { value: 0.5, low: 0.15, high: 0.85 } });
});

test("what is not known is stated, and never drawn as 0", () => {
  const texts = [cell({ finished: 0 }), cell({ finished: 0, failed: 4 }), cell({ unverified: 4 }), cell({})].map(
    (view) => figureOf(view, "pass", null),
  );
  expect(texts.map(({ text }) => text)).toEqual(["no result yet", "failed", "unverified", "no checks"]);
  expect(texts.every(({ position }) => position === null)).toBe(true);
  expect(figureOf(cell({}), "cost", null)).toMatchObject({ text: "unknown", position: null });
});

test("costs are drawn between the extremes of all replays", () => {
  const cells = [
    cell({ cost_usd: { mean: 0.002, min: 0.001, max: 0.003 } }),
    cell({ cost_usd: { mean: 0.005, min: 0.005, max: 0.005 } }),
  ];
  const scale = scaleOf(cells, "cost");
  expect(scale && scaleText("cost", scale)).toEqual(["$0.001", "$0.005"]);
  expect(cells.map((view) => figureOf(view, "cost", scale))).toEqual([
    { text: "$0.002", interval: "$0.001 to $0.003", position: { value: 0.25, low: 0, high: 0.5 } },
    { text: "$0.005", interval: "", position: { value: 1, low: 1, high: 1 } },
  ]);
  const [first] = cells;
  expect(first && scaleOf([first], "latency")).toBeNull();
});

test("replays outside the rate are counted", () => {
  expect(remarks(cell({ finished: 2, failed: 1, unverified: 1 }))).toEqual([
    "1 of 4 not finished",
    "1 unverified",
    "1 replay failed",
  ]);
});
