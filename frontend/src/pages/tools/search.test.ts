import { expect, test } from "vitest";
import type { ToolView } from "@/api/schema";
import { matching, parseToolsSearch } from "./search";

const tool = (name: string, safe: boolean | null): ToolView => ({
  name,
  apps: ["desk"],
  calls: 1,
  last_seen: null,
  description: "",
  parameters: null,
  suggestion: { safe: false, reason: "" },
  safe,
  history: [],
  executor: "",
});
const tools = [tool("get_order", true), tool("send_email", false), tool("get_weather", null)];
const namesMatching = (q: string | undefined) => matching(tools, q).map(({ name }) => name);

test("matches every word in name or state", () => {
  expect(namesMatching(undefined)).toHaveLength(3);
  expect(namesMatching("GET desk")).toEqual(["get_order", "get_weather"]);
  expect(namesMatching("not reviewed")).toEqual(["get_weather"]);
  expect(namesMatching("side")).toEqual(["send_email"]);
});

test("keeps a numeric search word", () => {
  expect(parseToolsSearch({ q: 7, other: 1 })).toEqual({ q: "7" });
  expect(parseToolsSearch({ q: "" })).toEqual({});
});
