import { expect, test } from "vitest";
import { ellipsize, entriesOf, jsonInText, preview } from "./json";

test("previews stay short", () => {
  expect(preview({ order_id: "A-1", items: [1, 2], total: 42 })).toBe('{ order_id: "A-1", items: […], total: 42 }');
  expect(preview({ text: "x".repeat(500), other: "y".repeat(500) }).length).toBeLessThanOrEqual(60);
  expect([preview([]), preview({}), preview([1, 2, 3])]).toEqual(["[]", "{}", "[3]"]);
});

test("finds only complete JSON in text", () => {
  expect(jsonInText(' {"a": 1} ')).toEqual({ a: 1 });
  expect(jsonInText('{"a": 1')).toBeUndefined();
  expect(jsonInText("42")).toBeUndefined();
});

test("names list entries by position", () => {
  expect(entriesOf(["a", null])).toEqual([
    ["0", "a"],
    ["1", null],
  ]);
  expect(ellipsize("abc", 2)).toBe("a…");
});
