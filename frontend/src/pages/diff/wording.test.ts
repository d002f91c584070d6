import { expect, test } from "vitest";
import { emphasise, verdictTitle, titleWithoutKind } from "./wording";

test("emphasises the cause regardless of case", () => {
  expect(emphasise("The system prompt made it 42.", "the system prompt")).toEqual({
    before: "",
    strong: "The system prompt",
    after: " made it 42.",
  });
  expect(emphasise("Nothing changed.", "Model")).toEqual({ before: "Nothing changed.", strong: "", after: "" });
  expect(emphasise("Nothing changed.", null).before).toBe("Nothing changed.");
});

test("a title does not repeat its kind", () => {
  expect(titleWithoutKind("Totals: errors 2 → 1", "totals")).toBe("errors 2 → 1");
  expect(titleWithoutKind("totals", "totals")).toBe("");
  expect(titleWithoutKind("step 5: amount", "arguments")).toBe("step 5: amount");
});

test("qualifies a cause by its confidence", () => {
  const titles = (["low", "medium", "high"] as const).map((confidence) =>
    verdictTitle({ verdict: "cause", confidence }),
  );
  expect(titles).toEqual(["Suspected cause", "Likely cause", "Cause"]);
  expect(verdictTitle({ verdict: "noise", confidence: "noise" })).toBe("Within noise");
});
