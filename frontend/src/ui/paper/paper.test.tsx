import { act, render, renderHook } from "@testing-library/react";
import type { ReactElement } from "react";
import { expect, test, vi } from "vitest";
import { PaperGap } from "./PaperGap";
import { PAPER_ROWS, paperRows, usePaper, useScreenQuery } from "./paper";

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

test("paper, which is narrow, does not change the layout of the screen", () => {
  const media = Object.assign(new EventTarget(), { matches: false });
  vi.spyOn(window, "matchMedia").mockReturnValue(media as unknown as MediaQueryList);
  const { result } = renderHook(() => useScreenQuery("(max-width: 900px)"));
  const resize = (matches: boolean) => {
    media.matches = matches;
    media.dispatchEvent(new Event("change"));
  };
  act(() => {
    window.dispatchEvent(new Event("beforeprint"));
    resize(true);
  });
  expect(result.current).toBe(false);
  act(() => {
    resize(false);
    window.dispatchEvent(new Event("afterprint"));
    resize(true);
  });
  expect(result.current).toBe(true);
});
