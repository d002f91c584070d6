import { expect, test } from "vitest";
import { lookup } from "./lookup";

test.each(["constructor", "toString", "__proto__", "hasOwnProperty"])("finds no entry named %s", (name) => {
  expect(lookup({ user: "User" }, name)).toBeUndefined();
});

test("finds the entries of a table", () => {
  expect(lookup({ user: "User" }, "user")).toBe("User");
});
