import { act, render } from "@testing-library/react";
import type { ReactElement } from "react";
import { expect, test } from "vitest";
import { PaperGap } from "./PaperGap";
import { PAPER_ROWS, paperRows, usePaper } from "./paper";

const VISIBLE = [{ index: 7, start: 196 }];

function List(): ReactElement {
  return (
    <div>
      {paperRows(usePaper(), 3, VISIBLE).map(({ index }) => index)}
      <PaperGap rows={10_000} />
    </div>
  );
}

test("a list prints all of its rows, and renders the visible ones again afterwards", () => {
  const { container } = render(<List />);
  expect(container.textContent).toBe("7");
  act(() => void window.dispatchEvent(new Event("beforeprint")));
  expect(container.textContent).toMatch(/^012The first 1,000 of 10,000 steps/);
  act(() => void window.dispatchEvent(new Event("afterprint")));
  expect(container.textContent).toBe("7");
});

test("a long list prints its beginning", () => {
  expect(paperRows(true, PAPER_ROWS + 1, VISIBLE)).toHaveLength(PAPER_ROWS);
});
