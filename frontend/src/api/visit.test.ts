import { expect, test } from "vitest";
import { sharedAddress, tokenOf } from "./visit";

test.each([
  ["/share/fps_a", "fps_a"],
  ["/share/fps_a/run", "fps_a"],
  ["/runs/share/fps_a", null],
  ["/share/", null],
])("the token of %s is %s", (path, token) => {
  expect(tokenOf(path)).toBe(token);
});

test.each([
  ["http://h/api/v1/runs/1/steps?after=0", "http://h/api/v1/share/fps_a/runs/1/steps?after=0"],
  ["http://h/api/v1/steps/2", "http://h/api/v1/share/fps_a/steps/2"],
  ["http://h/api/v1/share/fps_a/ticket", null],
  ["http://h/api/v1/access", null],
  ["http://h/api/v1/runs", null],
])("%s is read at %s", (address, target) => {
  expect(sharedAddress(address, "fps_a")).toBe(target);
});
