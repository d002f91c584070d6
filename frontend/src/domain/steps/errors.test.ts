import { expect, test } from "vitest";
import { readError } from "./errors";

test("splits the type from the message", () => {
  expect(readError("ValueError: no such order: A-1")).toEqual({ type: "ValueError", message: "no such order: A-1" });
  expect(readError("openai.RateLimitError: slow down\nand wait")).toEqual({
    type: "openai.RateLimitError",
    message: "slow down\nand wait",
  });
  expect(readError("KeyboardInterrupt")).toEqual({ type: "KeyboardInterrupt", message: "" });
});

test("finds the type at the end of a traceback and keeps its text", () => {
  const text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'order'\n";
  expect(readError(text)).toEqual({ type: "KeyError", message: text.trim() });
});

test("takes no other word before a colon for a type", () => {
  for (const text of ["Error code: 429", "order A-1: not found", "timed out", "The ValueError: rare"]) {
    expect(readError(text)).toEqual({ type: "", message: text });
  }
});
