import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { renderInApp } from "@/testing/render";
import Markdown from "./Markdown";

function show(text: string): HTMLElement {
  return renderInApp(<Markdown text={text} />).container;
}

test("renders the marks of GitHub's Markdown", () => {
  const view = show(
    "# Refund\n\nOrder **A-1** is *late*, ~~lost~~ `x < y`\nnext line\n\n- [x] one\n- [ ] two\n\n| a | b |\n|--|--|\n| 1 | 2 |",
  );
  expect(view.querySelector("h4")?.textContent).toBe("Refund");
  expect(view.querySelector("strong")?.textContent).toBe("A-1");
  expect(view.querySelector("code")?.textContent).toBe("x < y");
  expect(view.querySelector("br")).toBeTruthy();
  expect(screen.getByLabelText("done")).toBeTruthy();
  expect([...view.querySelectorAll("td")].map((cell) => cell.textContent)).toEqual(["1", "2"]);
});

test("opens only links to other sites and mail, in a new tab", () => {
  const view = show(
    "[a](https://example.org) [b](javascript:alert(1)) [c](/settings) [d](JAVASCRIPT:alert(1)) " +
      "[e](data:text/html;base64,AAAA) <javascript:alert(1)> [f](mailto:a@example.org) [g](java&#115;cript:alert(1))",
  );
  const links = [...view.querySelectorAll("a")];
  expect(links.map((link) => link.getAttribute("href"))).toEqual(["https://example.org/", "mailto:a@example.org"]);
  expect(links.every((link) => link.rel === "noopener noreferrer" && link.target === "_blank")).toBe(true);
  expect(view.textContent).toContain("javascript:alert(1)");
});

test("shows HTML as text", () => {
  const html =
    '<img src=x onerror="alert(1)"><script>alert(2)</script>\n\n<iframe src="https://example.org"></iframe> a <b>c</b>';
  const view = show(html);
  expect(view.querySelector("img, script, iframe, b")).toBeNull();
  expect(view.textContent).toContain('<img src=x onerror="alert(1)"><script>alert(2)</script>');
  expect(view.textContent).toContain("<b>c</b>");
});

test("never loads an image", () => {
  const view = show("![the lamp](https://tracker.example/lamp.png) ![](javascript:alert(1))");
  expect(view.querySelector("img")).toBeNull();
  expect(view.textContent).toContain("the lamp");
  expect(view.textContent).toContain("https://tracker.example/lamp.png");
  expect(view.querySelectorAll("a")).toHaveLength(1);
});

test("limits giant tables and lists", () => {
  const columns = "| a ".repeat(2_000);
  const table = `${columns}|\n${"|--".repeat(2_000)}|\n${`${columns}|\n`.repeat(3)}`;
  expect(show(table).querySelectorAll("td").length).toBeLessThan(200);
  const rows = show(`| a |\n|--|\n${"| 1 |\n".repeat(5_000)}`);
  expect(rows.querySelectorAll("td").length).toBeLessThan(500);
  expect(rows.textContent).toContain("4,800 more rows");
  const list = show("- item\n".repeat(5_000));
  expect(list.querySelectorAll("li").length).toBeLessThan(1_000);
  expect(list.textContent.match(/item/g)).toHaveLength(5_000);
});

test.each([
  ["quotes", `${">".repeat(20_000)} a`],
  ["brackets", "[".repeat(20_000)],
  ["stars", "*a ".repeat(20_000)],
  ["lists", Array.from({ length: 500 }, (_, depth) => `${"  ".repeat(depth)}- a`).join("\n")],
])("shows deeply nested %s", (_, text) => {
  const view = show(text);
  let depth = 0;
  for (let node = view.querySelector("blockquote, ul, em"); node; node = node.querySelector("blockquote, ul, em"))
    depth++;
  expect(depth).toBeLessThan(30);
  expect(view.textContent.length).toBeGreaterThan(0);
});

test("shows a paragraph as recorded if its marks would take a minute to pair", () => {
  const text = "**_a".repeat(25_000);
  const view = show(`${text}\n\n# Next`);
  expect(view.querySelector("p")?.textContent).toBe(text);
  expect(view.querySelector("h4")?.textContent).toBe("Next");
});

test("marks values that were not stored", () => {
  const view = show("Call **[redacted:phone:0123456789abcdef]** now");
  expect(view.querySelector("strong")?.textContent).toContain("phone");
  expect(view.textContent).not.toContain("[redacted:");
});
