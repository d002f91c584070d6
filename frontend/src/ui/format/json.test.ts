import { expect, test } from "vitest";
import { ellipsize, entriesOf, jsonInText, preview } from "./json";

test("a preview names what is inside and stays short", () => {
  expect(preview({ order_id: "A-1", items: [1, 2], total: 42 })).toBe('{ order_id: "A-1", items: […], total: 42 }');
  expect(preview({ text: "x".repeat(500), other: "y".repeat(500) }).length).toBeLessThanOrEqual(60);
  expect([preview([]), preview({}), preview([1, 2, 3])]).toEqual(["[]", "{}", "[3]"]);
});

test("json inside a text is found only when it is whole", () => {
  expect(jsonInText(' {"a": 1} ')).toEqual({ a: 1 });
  expect(jsonInText('{"a": 1')).toBeUndefined();
  expect(jsonInText("42")).toBeUndefined();
});

test("lists have their positions as names", () => {
  expect(entriesOf(["a", null])).toEqual([
    ["0", "a"],
    ["1", null],
  ]);
  expect(ellipsize("abc", 2)).toBe("a…");
});
