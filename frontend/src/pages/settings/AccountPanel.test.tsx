import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { renderInApp } from "@/testing/render";
import { AccountPanel } from "./AccountPanel";

test("who is signed in can sign out", () => {
  renderInApp(<AccountPanel access={{ login_required: true, name: "mira", role: "viewer" }} />);
  expect(screen.getByText("Signed in as mira, with the role viewer.")).toBeTruthy();
  expect(screen.getByRole("button", { name: "Sign out" })).toBeTruthy();
});

test("a server without login has no account", () => {
  renderInApp(<AccountPanel access={{ login_required: false, name: "local", role: "admin" }} />);
  expect(screen.queryByRole("button", { name: "Sign out" })).toBeNull();
});
