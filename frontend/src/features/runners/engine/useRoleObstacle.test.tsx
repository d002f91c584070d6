import { screen } from "@testing-library/react";
import type { ReactElement } from "react";
import { expect, test } from "vitest";
import { accessQuery } from "@/api/access";
import { renderInApp } from "@/testing/render";
import { useRoleObstacle } from "./useRoleObstacle";

function Obstacle({ action }: { action?: string }): ReactElement {
  return <p>{useRoleObstacle(action) ?? "none"}</p>;
}

test.each([
  ["viewer", "Replays need the debugger role."],
  ["debugger", "none"],
  ["admin", "none"],
])("a %s is told: %s", (role, words) => {
  renderInApp(<Obstacle />, [[accessQuery.queryKey, { role }]]);
  expect(screen.getByText(words)).toBeTruthy();
});

test("names what needs the role", () => {
  renderInApp(<Obstacle action="Importing needs" />, [[accessQuery.queryKey, { role: "viewer" }]]);
  expect(screen.getByText("Importing needs the debugger role.")).toBeTruthy();
});
