import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { renderInApp } from "@/testing/render";
import { Tags } from "./Tags";

test("counts the tags that have no room", () => {
  renderInApp(<Tags tags={["task:49", "model:gpt-4o", "trial:3"]} characters={16} />);
  expect([screen.getByText("task:49"), screen.getByText("+2")]).toHaveLength(2);
  expect(screen.queryByText("model:gpt-4o")).toBeNull();
});

test("shows the first tag of any length", () => {
  renderInApp(<Tags tags={["refund and return", "demo"]} characters={16} />);
  expect([screen.getByText("refund and return"), screen.getByText("+1")]).toHaveLength(2);
});
