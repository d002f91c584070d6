import { expect, test } from "vitest";
import { parseActivitySearch } from "./search";

test.each(["runs", "toString", 7, undefined])("shows all kinds for %s", (kind) => {
  expect(parseActivitySearch({ kind })).toEqual({});
});

test("keeps a kind", () => {
  expect(parseActivitySearch({ kind: "proof" })).toEqual({ kind: "proof" });
});
