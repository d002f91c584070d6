import { expect, test } from "vitest";
import type { RunRef } from "@/api/schema";
import { candidateName } from "./candidateName";

test("distinguishes the candidate from the base", () => {
  const base: RunRef = {
    id: "base",
    name: "Refund",
    app: "",
    status: "failed",
    source: "live",
    fork_sequence_no: null,
    source_run: null,
    original: null,
  };
  const nameOf = (changes: Partial<RunRef>) => candidateName({ base, candidate: { ...base, id: "other", ...changes } });
  expect(nameOf({ source_run: "base", fork_sequence_no: 5 })).toBe("fork from step 5");
  expect(nameOf({ name: "Exchange" })).toBe("Exchange");
  expect(nameOf({})).toBe("run other of the same name");
});
