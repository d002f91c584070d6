// Edits of the tags of runs.
import { pluralize } from "@/ui/format/numbers";

export interface TagEdit {
  add: string[];
  remove: string[];
}

/** What a saved edit did, for example "The tags of 3 runs were changed." */
export function taggedWords(changedRuns: number): string {
  return `The tags of ${changedRuns === 1 ? "the run" : pluralize(changedRuns, "run")} were changed.`;
}
