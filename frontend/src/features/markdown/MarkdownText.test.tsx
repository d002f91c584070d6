import { screen } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { renderInApp } from "@/testing/render";
import { MarkdownText } from "./MarkdownText";

beforeEach(() => localStorage.clear());

test("renders Markdown once its part is loaded", async () => {
  renderInApp(<MarkdownText text="Order **A-1**" />);
  expect((await screen.findByText("A-1")).tagName).toBe("STRONG");
});

test("shows the recorded text to those who prefer it", () => {
  localStorage.setItem("raw-text", "true");
  renderInApp(<MarkdownText text="Order **A-1**" />);
  expect(screen.getByText("Order **A-1**")).toBeTruthy();
});

test("does not parse a megabyte of text", () => {
  renderInApp(<MarkdownText text={"**a** ".repeat(180_000)} />);
  expect(screen.getByText(/1,080,000 characters are too many to format/)).toBeTruthy();
  expect(document.querySelector("strong")).toBeNull();
  expect(document.body.textContent.length).toBeLessThan(10_000);
});
