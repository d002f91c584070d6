import { expect, test } from "vitest";
import { forkName } from "./wording";

test("omits a name that equals the type", () => {
  expect(forkName({ sequence_no: 4, type: "model", name: "model" })).toBe("step 4");
  expect(forkName({ sequence_no: 4, type: "model", name: "desk" })).toBe("step 4 · desk");
});
