import { expect, test } from "vitest";
import { changeDocument, moveDocument } from "./documents";

const documents = [{ id: "a" }, { id: "b" }, { id: "c" }];
const ids = (list: { id?: unknown }[]) => list.map(({ id }) => id).join("");

test("documents change places and stop at the ends", () => {
  expect([ids(moveDocument(documents, 0, 1)), ids(moveDocument(documents, 2, -1))]).toEqual(["bac", "acb"]);
  expect([ids(moveDocument(documents, 0, -1)), ids(moveDocument(documents, 2, 1))]).toEqual(["abc", "abc"]);
});

test("changing one text leaves the others and the original alone", () => {
  expect(changeDocument(documents, 1, "new")).toEqual([{ id: "a" }, { id: "b", content: "new" }, { id: "c" }]);
  expect(documents[1]).toEqual({ id: "b" });
});
