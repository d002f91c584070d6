import { describe, expect, it } from "vitest";
import { gauge, progress } from "./progress";

describe("gauge", () => {
  it("limits the share to the whole", () => {
    expect(gauge("Cost", 3, null).share).toBeNull();
    expect(gauge("Cost", 3, 2).share).toBe(1);
    expect(gauge("Cost", 0, 0).share).toBe(0);
    expect(gauge("Cost", 1, 4).share).toBe(0.25);
  });
});

describe("progress", () => {
  it("is complete when the replay ends", () => {
    const steps = { resolved_steps: 14, planned_steps: 33 };
    expect(progress({ ...steps, status: "running" })).toMatchObject({ value: 14, limit: 33 });
    expect(progress({ ...steps, status: "completed_mixed" }).limit).toBeNull();
    expect(progress({ resolved_steps: 9, planned_steps: 7, status: "running" }).share).toBe(1);
  });
});
