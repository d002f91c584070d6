import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { markMeaning, plannedMark, markWord, reasonSentence } from "./labels";

const vocabulary = readFileSync(new URL("../../../../traces/core/vocabulary.py", import.meta.url), "utf8");

/** Values of an enum in the server's source. */
function valuesOf(name: string): string[] {
  const body = vocabulary.split(`class ${name}(StrEnum):`)[1]?.split("\nclass ")[0] ?? "";
  return [...body.matchAll(/^ {4}[A-Z_]+ = "(\w+)"$/gm)].flatMap((match) => match[1] ?? []);
}

test.each(["Reason", "Cause"])("every %s has a sentence", (name) => {
  const values = valuesOf(name);
  expect(values.length).toBeGreaterThan(2);
  for (const value of values) expect(reasonSentence(value), value).toMatch(/^[A-Z].*\.$/s);
});

test("every label has a description", () => {
  for (const label of valuesOf("Label")) {
    expect(markWord).toHaveProperty(label);
    expect(markMeaning).toHaveProperty(label);
  }
});

test("an inherited step that was simulated in a replay is not marked as exact", () => {
  expect(plannedMark({ label: "simulated", status: "ok" }, "inherited")).toBe("simulated");
  expect(plannedMark({ label: "live", status: "ok" }, "inherited")).toBe("exact");
});
