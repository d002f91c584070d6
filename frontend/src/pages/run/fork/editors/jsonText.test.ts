import { expect, test } from "vitest";
import { indentJson, restoreStyle, styleOf } from "./jsonText";

test.each(['{"a": 1, "b": [true, null, {"c": "x, y: z"}]}', '{"a":1,"b":[true,null]}', "[]", '{"name": "Zoë"}'])(
  "restores %s unchanged",
  (text) => {
    const style = styleOf(text) ?? expect.fail("no style");
    expect(restoreStyle(indentJson(text), style)).toBe(text);
  },
);

test.each(['{"price": 547.0}', '{ "a": 1 }', "plain text", "[broken", "12"])("edits %s verbatim", (text) => {
  expect(styleOf(text)).toBeNull();
});

test("keeps the style around a change", () => {
  expect(restoreStyle('{\n  "a": 2,\n  "b": 3\n}', "spaced")).toBe('{"a": 2, "b": 3}');
});
