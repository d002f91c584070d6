import { expect, test } from "vitest";
import { parseActivitySearch } from "./search";

test.each(["runs", "toString", 7, undefined])("shows all kinds for %s", (kind) => {
  expect(parseActivitySearch({ kind })).toEqual({});
});

test("keeps valid filters", () => {
  const search = { kind: "proof", state: "failed", outcome: "passed", author: "ada", q: "cents", start: "24h" };
  expect(parseActivitySearch(search)).toEqual(search);
  expect(parseActivitySearch({ q: 4200 })).toEqual({ q: "4200" });
});

test("drops invalid filters", () => {
  expect(parseActivitySearch({ state: "good", outcome: "great", author: "", q: "", start: "monday" })).toEqual({});
});
