import { expect, test } from "vitest";
import { aRun } from "@/testing/factories";
import { originOf } from "./origin";

test("a run names the format of its file, or how it was created", () => {
  expect(originOf(aRun({ source: "import", format: "kurral" }))).toBe("kurral");
  // Not “live”, which is a call that leaves the machine.
  expect(originOf(aRun({ source: "live", format: "otlp" }))).toBe("captured");
});
