import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useRevealedCount } from "./useRevealedCount";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const pass = () =>
  act(() => {
    vi.advanceTimersByTime(200);
  });

test("shows one step after the other, and never one that has not come", () => {
  const { result, rerender } = renderHook(({ available }) => useRevealedCount(available, 200), {
    initialProps: { available: 2 },
  });
  const counts = [result.current];
  for (let pause = 0; pause < 3; pause++) {
    pass();
    counts.push(result.current);
  }
  rerender({ available: 3 });
  pass();
  expect([...counts, result.current]).toEqual([0, 1, 2, 2, 3]);
});

test("shows all steps at once where motion is reduced", () => {
  vi.spyOn(window, "matchMedia").mockImplementation(
    () => Object.assign(new EventTarget(), { matches: true }) as MediaQueryList,
  );
  expect(renderHook(() => useRevealedCount(11, 200)).result.current).toBe(11);
});
