import { expect, test } from "vitest";
import { ellipsize, entriesOf, jsonInText, preview, readableJson } from "./json";

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

test("shows letters that Python has escaped, and leaves what only looks so", () => {
  expect(readableJson(String.raw`{"city": "K\u00f6ln \u6771\u4eac \ud83c\udf89"}`)).toBe('{"city": "Köln 東京 🎉"}');
  const lines = [String.raw`{"a": "\u0022 \u000a \u202e \u200b \\u00f6 \ud83"}`, String.raw`see \u00f6`];
  expect(lines.map(readableJson)).toEqual(lines);
});
