import { describe, expect, it } from "vitest";
import { score } from "./score";

describe("score", () => {
  it("never rounds up to a perfect score", () => {
    expect(score(1)).toBe("1.00");
    expect(score(0.99996)).toBe("0.9999");
    expect(score(0.7134)).toBe("0.71");
  });
});
