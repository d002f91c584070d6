import { expect, test } from "vitest";
import { withoutMarkdown } from "./markdown";

test.each([
  ["Order **#W6750959** has been *cancelled*", "Order #W6750959 has been *cancelled*"],
  ["# Result **Order ID: #W1** `paid`", "Result Order ID: #W1 paid"],
  ["See [the order](https://shop.example/o/1) ![photo](p.png)", "See the order photo"],
  ["2 ** 3 ** 4, C# and __init__ stay", "2 ** 3 ** 4, C# and __init__ stay"],
])("%s", (text, plain) => {
  expect(withoutMarkdown(text)).toBe(plain);
});
