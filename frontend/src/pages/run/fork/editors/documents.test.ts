import { expect, test } from "vitest";
import { addDocument, needsNewSearch, changeDocument, moveDocument, profilesOf } from "./documents";

const documents = [{ id: "a" }, { id: "b" }, { id: "c" }];
const ids = (list: { id?: unknown }[]) => list.map(({ id }) => id).join("");

test("moves documents within the list", () => {
  expect([ids(moveDocument(documents, 0, 1)), ids(moveDocument(documents, 2, -1))]).toEqual(["bac", "acb"]);
  expect([ids(moveDocument(documents, 0, -1)), ids(moveDocument(documents, 2, 1))]).toEqual(["abc", "abc"]);
});

test("changes one document without mutation", () => {
  expect(changeDocument(documents, 1, "new")).toEqual([{ id: "a" }, { id: "b", content: "new" }, { id: "c" }]);
  expect(documents[1]).toEqual({ id: "b" });
});

test("an added document has a unique name", () => {
  const documentsPlusOne = addDocument(documents);
  expect(documentsPlusOne.at(-1)).toEqual({ id: "added-1", content: "" });
  expect(addDocument(documentsPlusOne).at(-1)).toEqual({ id: "added-2", content: "" });
});

test("changed queries and more documents need a search", () => {
  expect(needsNewSearch({ query: "other" }, 3)).toBe(true);
  expect(needsNewSearch({ filters: {} }, 3)).toBe(true);
  expect([needsNewSearch({ top_k: 0 }, 3), needsNewSearch({ top_k: 3 }, 3), needsNewSearch({ top_k: 4 }, 3)]).toEqual([
    false,
    false,
    true,
  ]);
  expect(needsNewSearch({ query: "other", documents: [] }, 3)).toBe(false);
  expect(needsNewSearch(undefined, 3)).toBe(false);
});

test("lists a shared profile once", () => {
  const small = { name: "small", by: "small of openai" };
  expect(profilesOf([{ embeddings: [small] }, { embeddings: [small, { name: "mini", by: "here" }] }])).toEqual([
    "small",
    "mini",
  ]);
});
