import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { UninterceptedTool } from "@/api/schema";
import { renderInApp } from "@/testing/render";
import { ToolConsent } from "./ToolConsent";

const TOOLS: UninterceptedTool[] = [
  { name: "get_time", consent: "review" },
  { name: "send_email", consent: "runner" },
  { name: "refund", consent: null },
];

const commandWithConsent = () => screen.queryByLabelText("Command that starts a runner and allows tools")?.textContent;

test("offers a command that allows the tools without a review, and says so", () => {
  renderInApp(<ToolConsent app="desk" tools={TOOLS} hasRunner />);
  expect(commandWithConsent()).toContain("--allow-tool send_email --allow-tool refund --");
  expect(screen.queryByText(/it lets send_email, refund really run in each start/)).not.toBeNull();
});

test("asks for nothing that the runner allows already", () => {
  renderInApp(<ToolConsent app="desk" tools={TOOLS.slice(0, 2)} hasRunner />);
  expect(commandWithConsent()).toBeUndefined();
});

test("names what a runner allowed that is away: the next one has to allow it, too", () => {
  renderInApp(<ToolConsent app="desk" tools={TOOLS.slice(0, 2)} hasRunner={false} />);
  expect(commandWithConsent()).toContain("--allow-tool send_email --");
});
