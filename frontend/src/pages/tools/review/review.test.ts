import { expect, test } from "vitest";
import type { ToolView } from "@/api/schema";
import { decisionsToUndo, inDisplayOrder, needsConfirmation } from "./review";

const tool = (name: string, safe: boolean | null, isSuspected = true): ToolView => ({
  name,
  apps: ["desk"],
  calls: 1,
  last_seen: null,
  description: "",
  parameters: null,
  suggestion: { safe: !isSuspected, reason: "says send" },
  safe,
  history: [],
  executor: "",
});

test("a reviewed tool keeps its row, and a new one comes last", () => {
  const sortedByServer = [tool("pay", null), tool("wire", null), tool("send", true)];
  const names = inDisplayOrder(sortedByServer, ["send", "pay"]).map(({ name }) => name);
  expect(names).toEqual(["send", "pay", "wire"]);
});

test("only the first time that a suspected side effect becomes safe is asked about", () => {
  const reviewedTool: ToolView = { ...tool("send", null), history: [{ safe: true, by: "local", via: "page", at: "" }] };
  expect(needsConfirmation(tool("send", null), true)).toBe(true);
  expect(needsConfirmation(tool("send", false), true)).toBe(true);
  expect(needsConfirmation(reviewedTool, true)).toBe(false);
  expect(needsConfirmation(tool("send", null), false)).toBe(false);
  expect(needsConfirmation(tool("send", true), null)).toBe(false);
  expect(needsConfirmation(tool("get", null, false), true)).toBe(false);
});

test("undoing restores exactly what changed", () => {
  const before = [tool("get", true), tool("send", null), tool("pay", false)];
  const after = [tool("get", true), tool("send", true), tool("pay", null), tool("wire", true)];
  expect(decisionsToUndo(before, after)).toEqual([
    { name: "send", safe: null },
    { name: "pay", safe: false },
    { name: "wire", safe: null },
  ]);
});
