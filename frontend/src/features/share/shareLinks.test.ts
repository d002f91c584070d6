import { expect, test } from "vitest";
import type { ShareView } from "@/api/schema";
import { isComplete, linkList, linkState, linkTerms, NEW_LINK, termsOf } from "./shareLinks";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const link: ShareView = {
  id: "l",
  kind: "diff",
  subject: "d",
  diff: "d",
  url: null,
  created_at: "2026-11-20T12:00:00Z",
  expires_at: null,
  revoked_at: null,
  created_by: "local",
  audience: "anyone",
  people: [],
  max_views: null,
  allows_comments: false,
  opens: true,
  views: 0,
};

test.each([
  [{}, true],
  [{ expires_at: "2026-11-22T12:00:00Z" }, true],
  [{ expires_at: "2026-11-21T11:59:59Z" }, false],
  [{ max_views: 3, views: 2 }, true],
  [{ max_views: 3, views: 3 }, false],
  [{ expires_at: "2026-11-22T12:00:00Z", revoked_at: "2026-11-21T11:00:00Z" }, false],
])("a link with %o works: %s", (changes, alive) => {
  expect(linkState({ ...link, ...changes }, NOW).alive).toBe(alive);
});

test("describes audience and views of a link", () => {
  expect(linkTerms(link)).toBe("for anyone with the link · 0 views");
  expect(linkTerms({ ...link, allows_comments: true })).toBe("for anyone with the link · 0 views · with comments");
  expect(linkTerms({ ...link, audience: "people", people: ["Ada", "Eve"], views: 1, max_views: 5 })).toBe(
    "for Ada, Eve · 1 of 5 views",
  );
});

test("names people only for their audience", () => {
  expect(isComplete({ ...NEW_LINK, audience: "people" })).toBe(false);
  expect(termsOf({ ...NEW_LINK, people: ["Ada"], expiry: "" })).toEqual({
    audience: "anyone",
    people: [],
    expires_in_s: null,
    max_views: null,
    allows_comments: false,
  });
});

test("lists several links, one per line", () => {
  const links = [
    { title: "Where is\n my order?", url: "https://f.example/share/a" },
    { title: "Refund", url: "https://f.example/share/b" },
  ];
  expect(linkList(links)).toBe("Where is my order?: https://f.example/share/a\nRefund: https://f.example/share/b");
});
