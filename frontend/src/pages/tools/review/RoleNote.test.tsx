import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { accessQuery } from "@/api/access";
import { renderInApp } from "@/testing/render";
import { RoleNote } from "./RoleNote";

test.each([
  ["viewer", 1],
  ["debugger", 1],
  ["admin", 0],
])("a %s sees %i reasons why decisions are disabled", (role, notes) => {
  renderInApp(<RoleNote />, [[accessQuery.queryKey, { role }]]);
  expect(screen.queryAllByText("Only admins can review tools.")).toHaveLength(notes);
});
