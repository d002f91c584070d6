import { screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { stepQuery } from "@/api/runs/runs";
import { aStepDetail } from "@/testing/factories";
import { renderInApp } from "@/testing/render";
import { StepPanel } from "./StepPanel";

test("shows an error once, under its type", () => {
  const step = aStepDetail({ sequence_no: 3, type: "tool", status: "error", error: "ValueError: no such order" });
  renderInApp(<StepPanel step={step} plan={null} onSelect={vi.fn()} />, [[stepQuery(step.id).queryKey, step]]);
  expect(screen.getByRole("note", { name: "Error of the step" }).textContent).toBe("ValueErrorno such order");
  expect(screen.queryByText("error")).toBeNull();
});

test("shows the status of a failed step without an error", () => {
  const step = aStepDetail({ sequence_no: 3, type: "tool", status: "timeout" });
  renderInApp(<StepPanel step={step} plan={null} onSelect={vi.fn()} />, [[stepQuery(step.id).queryKey, step]]);
  expect(screen.getByText("timeout")).toBeTruthy();
  expect(screen.queryByRole("note")).toBeNull();
});
