import { expect, test } from "vitest";
import { isPublicPage } from "./publicPages";

test.each([
  ["/share/abc", true],
  ["/login", true],
  ["/", false],
  ["/runs/share/abc", false],
  ["/loginish", false],
])("%s is open: %s", (path, open) => {
  expect(isPublicPage(path)).toBe(open);
});
