/** Entries of the command palette. */
import type { RunSummary } from "@/api/schema";
import { startWords } from "@/domain/runs/startTime";
import { runTitle } from "@/domain/runs/title";
import { pluralize } from "@/ui/format/numbers";

export interface Entry {
  id: string;
  label: string;
  /** The kind of entry, or details about it. Searched as well. */
  note: string;
  keys: string;
  run: () => void;
}

/** Shortcuts that only move a selection or open the palette are not listed as commands. */
const MOVES = /^(next|previous|fold|unfold|open the row|wider|narrower|find pages)\b/i;

interface Group {
  name: string;
  shortcuts: readonly { keys: string; action: string; run: () => void }[];
}

/** All actions that the screen has registered, those of the innermost component first. */
export function entriesOf(groups: readonly Group[]): Entry[] {
  return groups.toReversed().flatMap((group) =>
    group.shortcuts
      .filter(({ action, keys }) => keys !== "Escape" && !MOVES.test(action))
      .map(({ action, keys, run }) => ({
        id: `${group.name}: ${action}`,
        label: action,
        note: group.name,
        keys,
        run,
      })),
  );
}

export function runEntry(run: RunSummary, open: (run: RunSummary) => void): Entry {
  const title = runTitle(run);
  const note = [title === run.name ? run.app : `fork of ${run.name}`, pluralize(run.steps, "step"), startWords(run)]
    .filter(Boolean)
    .join(" · ");
  return { id: `run ${run.id}`, label: title, note, keys: "", run: () => open(run) };
}

/** How well `text` matches `query`. Every word must occur; word starts score higher. Null without a match. */
export function matchScore(text: string, query: string): number | null {
  const haystack = text.toLowerCase();
  let score = 0;
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const position = haystack.indexOf(word);
    if (position < 0) return null;
    const startsWord = position === 0 || /[^\p{L}\p{N}]/u.test(haystack.charAt(position - 1));
    score += (startsWord ? 2 : 1) + word.length / haystack.length;
  }
  return score;
}

/** The entries that match a query, best first. An empty query keeps all in their order. */
export function find(entries: readonly Entry[], query: string): Entry[] {
  return entries
    .map((entry) => ({ entry, score: matchScore(`${entry.label} ${entry.note}`, query) }))
    .filter((hit): hit is { entry: Entry; score: number } => hit.score !== null)
    .sort((a, b) => b.score - a.score)
    .map(({ entry }) => entry);
}
