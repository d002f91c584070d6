import { expect, test } from "vitest";
import type { CommentView, DiffPlace } from "@/api/schema";
import { anchorKey, authorName, countOpen, threadsByAnchor } from "./discussion";

const comment = (id: string, change: Partial<CommentView>): CommentView => ({
  id,
  thread: null,
  step: null,
  place: null,
  quote: "",
  text: id,
  by: "Ada",
  is_visitor: false,
  at: "2026-01-01T00:00:00Z",
  edited_at: null,
  resolved_at: null,
  resolved_by: "",
  deleted_at: null,
  mine: false,
  may_delete: false,
  ...change,
});
const place: DiffPlace = { section: "tool", kind: "result", base: 3, candidate: 4, occurrence: 0, part: "", line: 2 };
const time = "2026-01-02T00:00:00Z";

test("comments form threads by step and by line", () => {
  const threads = threadsByAnchor([
    comment("a", { step: 3 }),
    comment("b", { place }),
    comment("c", { thread: "a" }),
    comment("d", { step: 3 }),
    comment("e", { thread: "a" }),
  ]);
  const ids = threads
    .get(anchorKey({ step: 3 }))
    ?.map(({ first, replies }) => [first.id, ...replies.map(({ id }) => id)]);
  expect(ids).toEqual([["a", "c", "e"], ["d"]]);
  expect(threads.get(anchorKey({ place: { ...place } }))).toHaveLength(1);
  expect(threads.get(anchorKey({ place: { ...place, line: 3 } }))).toBeUndefined();
  expect(threads.get(anchorKey({ place: { ...place, occurrence: 1 } }))).toBeUndefined();
});

test("only what is open counts", () => {
  const comments = [
    comment("a", { step: 1, deleted_at: time }),
    comment("b", { thread: "a" }),
    comment("c", { step: 1, resolved_at: time }),
    comment("d", { thread: "c" }),
    comment("e", { step: 1 }),
  ];
  expect(countOpen(threadsByAnchor(comments).get("step 1") ?? [])).toBe(2);
});

test.each([
  [{}, "Ada"],
  [{ mine: true }, "You"],
  [{ by: "local" }, "The owner"],
  [{ by: "local", is_visitor: true }, "local"],
  [{ by: "", deleted_at: time }, "Deleted"],
])("%j is by %s", (change, name) => expect(authorName(comment("a", change))).toBe(name));
