import { expect, test } from "vitest";
import type { RunRef } from "@/api/schema";
import { candidateName, emphasised, verdictTitle, withoutKind } from "./words";

test("the name of the cause stands out where the sentence has it, in whatever case", () => {
  expect(emphasised("The system prompt made it 42.", "the system prompt")).toEqual({
    before: "",
    strong: "The system prompt",
    after: " made it 42.",
  });
  expect(emphasised("Nothing changed.", "Model")).toEqual({ before: "Nothing changed.", strong: "", after: "" });
  expect(emphasised("Nothing changed.", null).before).toBe("Nothing changed.");
});

test("a title does not repeat its kind", () => {
  expect(withoutKind("Totals: errors 2 → 1", "totals")).toBe("errors 2 → 1");
  expect(withoutKind("totals", "totals")).toBe("");
  expect(withoutKind("step 5: amount", "arguments")).toBe("step 5: amount");
});

test("the candidate is told apart from the base", () => {
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
  const other = (given: Partial<RunRef>) => candidateName({ base, candidate: { ...base, id: "other", ...given } });
  expect(other({ source_run: "base", fork_sequence_no: 5 })).toBe("fork from step 5");
  expect(other({ name: "Exchange" })).toBe("Exchange");
  expect(other({})).toBe("run other of the same name");
});

test("a cause is called what it is known to be", () => {
  const titles = (["low", "medium", "high"] as const).map((confidence) =>
    verdictTitle({ verdict: "cause", confidence }),
  );
  expect(titles).toEqual(["Suspected cause", "Likely cause", "Cause"]);
  expect(verdictTitle({ verdict: "noise", confidence: "noise" })).toBe("Within noise");
});
