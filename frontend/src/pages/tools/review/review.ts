// Rules of the tool review: rows keep their places, and one click never allows anything unsafe.
import type { ToolChoice, ToolSuggestion, ToolView } from "@/api/schema";

/** The tools in the order in which they were first shown, with new ones last. */
export function inDisplayOrder(tools: readonly ToolView[], order: readonly string[]): readonly ToolView[] {
  const place = new Map(order.map((name, index) => [name, index]));
  const placeOf = (tool: ToolView) => place.get(tool.name) ?? order.length;
  return tools.toSorted((a, b) => placeOf(a) - placeOf(b));
}

export function suggestionWords({ safe }: Pick<ToolSuggestion, "safe">): "safe" | "side effect" | "unknown" {
  if (safe === null) return "unknown";
  return safe ? "safe" : "side effect";
}

/** The unreviewed tools whose words suggest that they only read. All others need a look at each. */
export function safeSuggestions(tools: readonly ToolView[]): readonly ToolView[] {
  return tools.filter((tool) => tool.safe === null && tool.suggestion.safe === true);
}

/** Whether a decision allows a tool that may have side effects for the first time. */
export function needsConfirmation(tool: ToolView, safe: boolean | null): boolean {
  return safe === true && !tool.suggestion.safe && tool.safe !== true && !tool.history.some((entry) => entry.safe);
}

/** The decisions that restore `before`. Tools that it does not contain become unreviewed. */
export function decisionsToUndo(before: readonly ToolView[], after: readonly ToolView[]): ToolChoice[] {
  const decisionsBefore = new Map(before.map(({ name, safe }) => [name, safe]));
  return after
    .filter(({ name, safe }) => (decisionsBefore.get(name) ?? null) !== safe)
    .map(({ name }) => ({ name, safe: decisionsBefore.get(name) ?? null }));
}
