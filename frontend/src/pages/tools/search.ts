import type { ToolView } from "@/api/schema";

/** The state of the tools page that its address stores: the search words and the tab. */
export interface ToolsSearch {
  q?: string;
  tab?: "retrievers";
}

export function parseToolsSearch(search: Record<string, unknown>): ToolsSearch {
  // The router parses a word of digits as a number.
  const q = typeof search.q === "number" ? String(search.q) : search.q;
  return {
    ...(typeof q === "string" && q !== "" ? { q } : {}),
    ...(search.tab === "retrievers" ? { tab: "retrievers" } : {}),
  };
}

/** The tools whose name, apps, description or state contain every word. */
export function matching(tools: readonly ToolView[], q: string | undefined): readonly ToolView[] {
  const words = (q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return tools.filter((tool) => {
    const text = [tool.name, ...tool.apps, tool.description, stateWords(tool), tool.executor].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function stateWords(tool: Pick<ToolView, "safe">): "safe" | "side effect" | "not reviewed" {
  if (tool.safe === null) return "not reviewed";
  return tool.safe ? "safe" : "side effect";
}
