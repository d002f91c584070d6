import { expect, test } from "vitest";
import { parseLoginSearch } from "./search";

test.each(["//evil.example/x", "/\\evil.example", "https://evil.example", "javascript:alert(1)", 7])(
  "rejects %s",
  (next) => {
    expect(parseLoginSearch({ next })).toEqual({});
  },
);

test("knows that a session ended", () => {
  expect(parseLoginSearch({ next: "/tools", expiry: true })).toEqual({ next: "/tools", expiry: true });
  expect(parseLoginSearch({ expiry: "yes" })).toEqual({});
});

test("accepts a path of this site", () => {
  expect(parseLoginSearch({ next: "/runs/1?step=4" })).toEqual({ next: "/runs/1?step=4" });
});
