import { describe, expect, it } from "vitest";
import { costDelta, durationDelta, stepDelta, tokenDelta } from "./deltas";

describe("signed figures", () => {
  it("never shows unknown as zero", () => {
    expect(tokenDelta(null)).toEqual({ text: "unknown", direction: "none" });
    expect(costDelta(null).text).toBe("unknown");
    expect(durationDelta(0).text).toBe("±0");
  });

  it("uses a real minus sign and a direction", () => {
    expect(tokenDelta(-1204)).toEqual({ text: "−1,204", direction: "better" });
    expect(tokenDelta(12)).toEqual({ text: "+12", direction: "worse" });
  });

  it.each([
    [-0.008, "−$0.0080"],
    [0.0000123, "+$0.000012"],
    [1.5, "+$1.50"],
  ])("writes a cost of %d as %s", (value, text) => {
    expect(costDelta(value).text).toBe(text);
  });

  it.each([
    [-41, "−41 ms"],
    [1234, "+1.2 s"],
    [-61_000, "−61 s"],
  ])("writes a duration of %d ms as %s", (value, text) => {
    expect(durationDelta(value).text).toBe(text);
  });

  it("a step delta has no direction", () => {
    expect(stepDelta(-2)).toEqual({ text: "−2", direction: "none" });
  });
});
