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

test("a tool is taken out of what is offered and put back in its place", () => {
  const editsWithoutTool = offerTool(request, {}, "get_order", false);
  expect(editsWithoutTool).toEqual({ tools: [tools[1]] });
  expect(offerTool(request, editsWithoutTool, "get_order", true)).toEqual({ tools: undefined });
  const edits = { tools: [{ name: "pay", description: "Pays back." }] };
  expect(offerTool(request, edits, "get_order", true)).toEqual({ tools: [tools[0], edits.tools[0]] });
});

test("further parameters are changed by value, and left out when their name is gone", () => {
  const model = parameterEdits(request, { unset: ["tools"] }, { tool_choice: "none" });
  expect(model).toEqual({ parameters: { tool_choice: "none" }, unset: ["tools", "n"] });
  expect(editedParameters(request, model)).toEqual({ tool_choice: "none" });
  expect(parameterEdits(request, model, undefined)).toEqual({ parameters: undefined, unset: ["tools"] });
  expect(editedParameters(request, {})).toBeUndefined();
});

test("what a request says can be left out", () => {
  expect(optionalFields(request)).toEqual(["tools", "response_format", "temperature", "tool_choice", "n"]);
});

test("an invalid list of tools and a parameter with its own field are refused", () => {
  expect(toolsProblem([{ description: "without a name" }])).toContain("list of tools");
  expect(toolsProblem(tools)).toBeNull();
  expect(parametersProblem({ seed: 1 })).toBe("seed has its own field");
});
