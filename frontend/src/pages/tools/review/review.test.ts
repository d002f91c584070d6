import { expect, test } from "vitest";
import type { ToolView } from "@/api/schema";
import { decisionsToUndo, inDisplayOrder, needsConfirmation, safeSuggestions } from "./review";

const tool = (name: string, safe: boolean | null, isSuspected = true): ToolView => ({
  name,
  apps: ["desk"],
  calls: 1,
  last_seen: null,
  description: "",
  parameters: null,
  suggestion: { safe: !isSuspected, reason: "name contains “send”" },
  safe,
  history: [],
  executor: "",
});

test("keeps rows and appends new tools", () => {
  const sortedByServer = [tool("pay", null), tool("wire", null), tool("send", true)];
  const names = inDisplayOrder(sortedByServer, ["send", "pay"]).map(({ name }) => name);
  expect(names).toEqual(["send", "pay", "wire"]);
});

test("confirms a suspected side effect once", () => {
  const reviewedTool: ToolView = { ...tool("send", null), history: [{ safe: true, by: "local", via: "page", at: "" }] };
  expect(needsConfirmation(tool("send", null), true)).toBe(true);
  expect(needsConfirmation(tool("send", false), true)).toBe(true);
  expect(needsConfirmation(reviewedTool, true)).toBe(false);
  expect(needsConfirmation(tool("send", null), false)).toBe(false);
  expect(needsConfirmation(tool("send", true), null)).toBe(false);
  expect(needsConfirmation(tool("get", null, false), true)).toBe(false);
  const unknownTool: ToolView = { ...tool("calculate", null), suggestion: { safe: null, reason: "" } };
  expect(needsConfirmation(unknownTool, true)).toBe(true);
});

test("offers only safe suggestions of unreviewed tools in bulk", () => {
  const unknownTool: ToolView = { ...tool("calculate", null), suggestion: { safe: null, reason: "" } };
  const tools = [tool("send", null), unknownTool, tool("get", null, false), tool("list", false, false)];
  expect(safeSuggestions(tools).map(({ name }) => name)).toEqual(["get"]);
});

test("undo restores exactly what changed", () => {
  const before = [tool("get", true), tool("send", null), tool("pay", false)];
  const after = [tool("get", true), tool("send", true), tool("pay", null), tool("wire", true)];
  expect(decisionsToUndo(before, after)).toEqual([
    { name: "send", safe: null },
    { name: "pay", safe: false },
    { name: "wire", safe: null },
  ]);
});
