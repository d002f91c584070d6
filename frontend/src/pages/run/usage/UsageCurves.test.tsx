import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { stepsQuery } from "@/api/runs/runs";
import { aStep } from "@/testing/factories";
import { renderInApp } from "@/testing/render";
import { UsageCurves } from "./UsageCurves";

const call = (sequence_no: number, cost_usd: number | null) => aStep({ sequence_no, tokens_in: 10, cost_usd });
const show = (...costs: (number | null)[]) =>
  renderInApp(<UsageCurves run="r" lastStep={costs.length} />, [
    [stepsQuery("r").queryKey, costs.map((cost, index) => call(index + 1, cost))],
  ]);

test("never draws an unknown cost as zero", () => {
  show(null, null);
  expect(screen.getByText("The cost of these calls is unknown.")).toBeTruthy();
  expect(screen.getAllByRole("img")).toHaveLength(1);
});

test("marks a cost that is known only in part", () => {
  show(0.5, null, 0.25);
  expect(screen.getByText("$0.75 + ?")).toBeTruthy();
  expect(screen.getByText("The cost of 1 of 3 calls is unknown and not in the curve.")).toBeTruthy();
});

test("shows a cost of zero of a free model", () => {
  show(0, 0);
  expect(screen.getByText("$0.00")).toBeTruthy();
});
