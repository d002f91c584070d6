import { act, renderHook } from "@testing-library/react";
import { expect, test } from "vitest";
import { usePaletteQuery } from "./usePaletteQuery";

const press = (target: Element, key: string, init: KeyboardEventInit = {}) =>
  act(() => {
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...init }));
  });

test("collects what is typed before the palette has the focus", () => {
  const field = document.body.appendChild(document.createElement("textarea"));
  const { result, rerender } = renderHook(({ isOpen }) => usePaletteQuery(isOpen), { initialProps: { isOpen: false } });
  press(field, "x");
  rerender({ isOpen: true });
  for (const key of ["t", "Shift", "o"]) press(field, key);
  press(field, "k", { ctrlKey: true });
  expect(result.current.text).toBe("to");
  rerender({ isOpen: false });
  expect(result.current.text).toBe("");
  field.remove();
});

test("leaves what is typed in the palette's field to it", () => {
  const field = document.body.appendChild(document.createElement("input"));
  field.dataset["paletteField"] = "true";
  const { result } = renderHook(() => usePaletteQuery(true));
  press(field, "x");
  expect(result.current.text).toBe("");
  field.remove();
});
