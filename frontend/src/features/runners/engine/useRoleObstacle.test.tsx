import { screen } from "@testing-library/react";
import type { ReactElement } from "react";
import { expect, test } from "vitest";
import { accessQuery } from "@/api/access";
import { renderInApp } from "@/testing/render";
import { useRoleObstacle } from "./useRoleObstacle";

function Obstacle(): ReactElement {
  return <p>{useRoleObstacle() ?? "none"}</p>;
}

test.each([
  ["viewer", "Replays need the debugger role."],
  ["debugger", "none"],
  ["admin", "none"],
])("a %s is told: %s", (role, words) => {
  renderInApp(<Obstacle />, [[accessQuery.queryKey, { role }]]);
  expect(screen.getByText(words)).toBeTruthy();
});
