import { expect, test } from "vitest";
import type { BisectResult, ForkResult } from "@/api/schema";
import { forkName, rowsOf } from "./wording";

const step = (sequence_no: number): ForkResult["step"] => ({ sequence_no, type: "model", name: "desk" });
const forkAt = (sequence_no: number): ForkResult => ({
  step: step(sequence_no),
  counted: { passed: 1, failed: 0, unclear: 0, running: 0, assumed: 0, doubtful: 0 },
});

test("rows show roles and skipped steps", () => {
  const result = {
    forks: [forkAt(3), forkAt(9), forkAt(11)],
    commit: { step: step(9), kept: step(11), earliest: step(3) },
  } as unknown as BisectResult;
  const rows = rowsOf({ result, forks: 5 }, [3, 5, 7, 9, 11]);
  expect(rows.map(({ role, skippedSteps }) => [role, skippedSteps])).toEqual([
    ["earliest", 0],
    ["commit", 2],
    ["kept", 0],
  ]);
});

test("omits a name that equals the type", () => {
  expect(forkName({ sequence_no: 4, type: "model", name: "model" })).toBe("step 4");
  expect(forkName(step(4))).toBe("step 4 · desk");
});
