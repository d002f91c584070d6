import { expect, test } from "vitest";
import { aStep } from "@/testing/factories";
import { withOpenSteps } from "./openSteps";

const steps = [
  aStep({ sequence_no: 1, status: "ok", duration_ms: 4 }),
  aStep({ sequence_no: 2, status: "partial", duration_ms: 9 }),
  aStep({ sequence_no: 3, status: "partial", duration_ms: null }),
];

test("a step that has not ended is running while its run is recorded", () => {
  expect(withOpenSteps({ status: "running" }, steps).map(({ status }) => status)).toEqual(["ok", "partial", "running"]);
  expect(withOpenSteps({ status: "partial" }, steps)).toBe(steps);
});
