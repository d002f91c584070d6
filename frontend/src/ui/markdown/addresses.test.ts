import { expect, test } from "vitest";
import { decodeEntities, safeAddress } from "./addresses";

test.each([
  ["https://example.org/a?b=1#c", "https://example.org/a?b=1#c"],
  ["HTTP://example.org", "http://example.org/"],
  ["mailto:desk@example.org", "mailto:desk@example.org"],
])("%s may be opened", (href, address) => {
  expect(safeAddress(href)).toBe(address);
});

test.each([
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  "java\nscript:alert(1)",
  " javascript:alert(1)",
  "\u0001javascript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "vbscript:x",
  "file:///etc/passwd",
  "blob:https://example.org/1",
  "/api/v1/runs",
  "//evil.example",
  "#top",
  "",
])("%s may not be opened", (href) => {
  expect(safeAddress(href)).toBeNull();
});

test("decodes character references once", () => {
  expect(decodeEntities("a &lt;b&gt; &amp;amp; &#39;&#x41;&unknown; &#0;")).toBe("a <b> &amp; 'A&unknown; &#0;");
});
