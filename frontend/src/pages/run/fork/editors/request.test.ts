import { expect, test } from "vitest";
import type { ModelInput } from "@/domain/steps/content";
import {
  editedParameters,
  offerTool,
  optionalFields,
  parameterEdits,
  parametersProblem,
  toolsProblem,
} from "./request";

const tools: Record<string, string>[] = [{ name: "get_order" }, { name: "pay", description: "Pays." }];
const request: ModelInput = {
  messages: [],
  tools,
  parameters: { temperature: 0.2, tool_choice: "auto", n: 1 },
  rest: { response_format: { type: "text" } },
};

test("restores a tool to its place", () => {
  const editsWithoutTool = offerTool(request, {}, "get_order", false);
  expect(editsWithoutTool).toEqual({ tools: [tools[1]] });
  expect(offerTool(request, editsWithoutTool, "get_order", true)).toEqual({ tools: undefined });
  const edits = { tools: [{ name: "pay", description: "Pays back." }] };
  expect(offerTool(request, edits, "get_order", true)).toEqual({ tools: [tools[0], edits.tools[0]] });
});

test("edits and omits other parameters", () => {
  const model = parameterEdits(request, { unset: ["tools"] }, { tool_choice: "none" });
  expect(model).toEqual({ parameters: { tool_choice: "none" }, unset: ["tools", "n"] });
  expect(editedParameters(request, model)).toEqual({ tool_choice: "none" });
  expect(parameterEdits(request, model, undefined)).toEqual({ parameters: undefined, unset: ["tools"] });
  expect(editedParameters(request, {})).toBeUndefined();
});

test("lists fields that can be omitted", () => {
  expect(optionalFields(request)).toEqual(["tools", "response_format", "temperature", "tool_choice", "n"]);
});

test("rejects invalid tools and duplicate parameters", () => {
  expect(toolsProblem([{ description: "without a name" }])).toContain("list of tools");
  expect(toolsProblem(tools)).toBeNull();
  expect(parametersProblem({ seed: 1 })).toBe("seed has its own field");
});
