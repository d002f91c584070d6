import { fireEvent, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { ToolView } from "@/api/schema";
import { renderInApp } from "@/testing/render";
import { ToolTrial } from "./ToolTrial";

const parameters = { type: "object", properties: { order_id: { type: "string" } }, required: ["order_id"] };
const tool: ToolView = {
  name: "get_order",
  apps: ["desk"],
  calls: 1,
  last_seen: null,
  description: "",
  parameters,
  suggestion: { safe: true, reason: "contains get" },
  safe: true,
  history: [],
  executor: "http POST example.com",
};
const button = () => screen.getByRole("button", { name: "Test call" });
const isOff = () => button().getAttribute("aria-disabled") === "true";

test("a reviewed tool needs only required arguments", () => {
  renderInApp(<ToolTrial tool={tool} />);
  expect(isOff()).toBe(true);
  fireEvent.change(screen.getByLabelText(/order_id/), { target: { value: "A-1" } });
  expect(isOff()).toBe(false);
  expect(screen.queryByRole("checkbox")).toBeNull();
});

test("unreviewed tools and side effects need confirmation", () => {
  renderInApp(<ToolTrial tool={{ ...tool, parameters: null, safe: null }} />);
  expect(screen.getByText(/Not reviewed as safe/)).toBeTruthy();
  expect(isOff()).toBe(true);
  fireEvent.click(screen.getByRole("checkbox"));
  expect(isOff()).toBe(false);
  fireEvent.change(screen.getByLabelText("Arguments"), { target: { value: "[1]" } });
  expect(screen.getByText("Arguments must be an object.")).toBeTruthy();
  expect(isOff()).toBe(true);
});
