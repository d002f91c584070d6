import { describe, expect, it } from "vitest";
import { costDelta, durationDelta, tokenDelta } from "./deltas";

describe("signed figures", () => {
  it("never shows unknown as zero", () => {
    expect(tokenDelta(null)).toBe("unknown");
    expect(costDelta(null)).toBe("unknown");
    expect(durationDelta(0)).toBe("±0");
  });

  it("uses a real minus sign", () => {
    expect(tokenDelta(-1204)).toBe("−1,204");
    expect(tokenDelta(12)).toBe("+12");
  });

  it.each([
    [-0.008, "−$0.0080"],
    [0.0000123, "+$0.000012"],
    [1.5, "+$1.50"],
  ])("writes a cost of %d as %s", (value, text) => {
    expect(costDelta(value)).toBe(text);
  });

  it.each([
    [-41, "−41 ms"],
    [1234, "+1.2 s"],
    [-61_000, "−61 s"],
  ])("writes a duration of %d ms as %s", (value, text) => {
    expect(durationDelta(value)).toBe(text);
  });
});
