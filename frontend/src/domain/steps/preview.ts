import type { StepType } from "@/api/schema";
import { withoutMarkdown } from "@/ui/format/markdown";
import { shortenMarkers } from "@/ui/format/markers";

/** Steps whose summary is what someone says, and not a call with its arguments. */
const SPEAKERS: ReadonlySet<StepType> = new Set<StepType>(["model", "agent", "turn", "output"]);

/** The summary of a step for one line, or its name if it has none. */
export function stepPreview({ type, summary, name }: { type: StepType; summary: string; name: string }): string {
  const text = shortenMarkers(summary || name);
  return SPEAKERS.has(type) ? withoutMarkdown(text) : text;
}

/** Two answers without the marks of Markdown, unless they differ in nothing else. */
export function answerPreviews(first: string, second: string): [string, string] {
  const previews: [string, string] = [withoutMarkdown(first), withoutMarkdown(second)];
  return previews[0] === previews[1] ? [first, second] : previews;
}
