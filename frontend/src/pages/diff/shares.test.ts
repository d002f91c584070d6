import { expect, test } from "vitest";
import type { ShareView } from "@/api/schema";
import { linkState } from "./shares";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const link: ShareView = {
  id: "l",
  diff: "d",
  url: null,
  created_at: "2026-11-20T12:00:00Z",
  expires_at: null,
  revoked_at: null,
  views: 0,
};

test.each([
  [{}, true],
  [{ expires_at: "2026-11-22T12:00:00Z" }, true],
  [{ expires_at: "2026-11-21T11:59:59Z" }, false],
  [{ expires_at: "2026-11-22T12:00:00Z", revoked_at: "2026-11-21T11:00:00Z" }, false],
])("a link with %o works: %s", (changes, alive) => {
  expect(linkState({ ...link, ...changes }, NOW).alive).toBe(alive);
});
