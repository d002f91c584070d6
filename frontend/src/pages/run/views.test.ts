import { expect, test } from "vitest";
import type { StepType } from "@/api/schema";
import { aStep } from "@/testing/factories";
import { defaultView } from "./views";

const run = (...types: StepType[]) =>
  types.map((type, index) => aStep({ sequence_no: index + 1, type, summary: `${type} says this` }));

test.each<[string, StepType[]]>([
  ["a conversation with tools", ["agent", "turn", "model", "tool", "model", "turn", "model", "output"]],
  [
    "an agent with retrieval, prompt and a check",
    ["agent", "retrieval", "prompt", "turn", "model", "tool", "model", "validator"],
  ],
  ["one question and its answer", ["model"]],
])("opens %s as a transcript", (_, types) => {
  expect(defaultView(run(...types))).toBe("transcript");
});

test.each<[string, StepType[]]>([
  ["a pipeline", ["retrieval", "retrieval", "prompt", "model", "validator", "output"]],
  ["tools without a model", ["agent", "tool", "tool"]],
])("opens %s as a tree", (_, types) => {
  expect(defaultView(run(...types))).toBe("tree");
});

test("opens a run without recorded answers as a tree", () => {
  expect(defaultView(run("model", "tool").map((step) => ({ ...step, summary: "" })))).toBe("tree");
});

test("judges a long run by its beginning", () => {
  const start = run(...Array<StepType>(300).fill("model"));
  expect(defaultView([...start, ...run(...Array<StepType>(900).fill("validator"))])).toBe("transcript");
});
