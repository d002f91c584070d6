import type { ToolView } from "@/api/schema";

/** What the address of the tools page says: the words looked for, or that retrievers are shown. */
export interface ToolsSearch {
  q?: string;
  tab?: "retrievers";
}

export function parseToolsSearch(search: Record<string, unknown>): ToolsSearch {
  // A number in the address is a word all the same.
  const q = typeof search.q === "number" ? String(search.q) : search.q;
  return {
    ...(typeof q === "string" && q !== "" ? { q } : {}),
    ...(search.tab === "retrievers" ? { tab: "retrievers" } : {}),
  };
}

/** The tools that have every word in their name, apps, description or state. */
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
