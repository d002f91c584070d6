import type { ReactElement } from "react";
import type { ToolSuggestion } from "@/api/schema";
import type { Mark } from "@/domain/steps/labels";
import { StateChip } from "@/features/labels/StateChip";
import list from "@/ui/ListPage.module.css";
import { suggestionWords } from "./review";
import { capitalize } from "@/ui/format/text";

const MARKS: Record<ReturnType<typeof suggestionWords>, Mark> = {
  safe: "exact",
  "side effect": "simulated",
  unknown: "live",
};

/** What a tool's words suggest, and which words these are. */
export function Suggestion({ suggestion }: { suggestion: ToolSuggestion }): ReactElement {
  const words = suggestionWords(suggestion);
  return (
    <>
      <StateChip mark={MARKS[words]}>{words}</StateChip>
      <span className={list.sub}>
        <SuggestionReason suggestion={suggestion} />
      </span>
    </>
  );
}

export function SuggestionReason({ suggestion }: { suggestion: ToolSuggestion }): ReactElement {
  return <span className="muted">{capitalize(suggestion.reason)}</span>;
}
