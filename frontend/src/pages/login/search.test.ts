import { expect, test } from "vitest";
import { parseLoginSearch } from "./search";

test.each(["//evil.example/x", "/\\evil.example", "https://evil.example", "javascript:alert(1)", 7])(
  "%s is not a place to go to",
  (next) => {
    expect(parseLoginSearch({ next })).toEqual({});
  },
);

test("a path of this site is", () => {
  expect(parseLoginSearch({ next: "/runs/1?step=4" })).toEqual({ next: "/runs/1?step=4" });
});
