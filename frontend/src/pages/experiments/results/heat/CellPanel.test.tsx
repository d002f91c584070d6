import { createMemoryHistory, createRootRoute, createRouter, RouterContextProvider } from "@tanstack/react-router";
import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { CellView, ExperimentRowView } from "@/api/schema";
import { renderInApp } from "@/testing/render";
import { CellPanel } from "./CellPanel";

test("a replay without checks has its number, not a tick", () => {
  const cell = { pass_rate: null, unverified: 0, failed: 0 } as unknown as CellView;
  const row = { number: 3, sample: 2, status: "completed_mixed", checks: [], unverified: "", answer: "", session: "s" };
  const router = createRouter({ routeTree: createRootRoute(), history: createMemoryHistory() });
  renderInApp(
    <RouterContextProvider router={router as never}>
      <CellPanel name="m1" cell={cell} rows={[{ ...row, diff: null } as unknown as ExperimentRowView]} isBest={false} />
    </RouterContextProvider>,
  );
  expect(screen.getByRole("link", { name: "Sample 2: done, open its replay" }).textContent).toBe("2");
});
