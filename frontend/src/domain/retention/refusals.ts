// Why runs were not deleted, and whether an admin may delete them in spite of it.
import type { CitationView, RefusedRun, RunSummary } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { sentence } from "@/ui/format/text";

/** A run as far as renaming, pinning, holding and deleting need it. */
export type ActionRun = Pick<
  RunSummary,
  "id" | "name" | "title" | "note" | "tags" | "sealed" | "is_pinned" | "is_held"
>;

const IN_PROGRESS = " in progress";

/** Citing objects can lose their source; legal holds, recordings and work in progress protect a run from everybody. */
export function canOverride({ citations }: RefusedRun): boolean {
  return citations.length > 0 && !citations.some(({ kind }) => kind.endsWith(IN_PROGRESS));
}

/** Why a run was not deleted. What cites it is listed next to it. */
export function refusalWords(refusal: RefusedRun): string {
  if (refusal.citations.length === 0) return sentence(refusal.detail);
  return canOverride(refusal) ? `Cited by ${citationWords(refusal.citations)}.` : "Still in use.";
}

/** "2 forks and 1 diff report". */
export function citationWords(citations: readonly CitationView[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of citations) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const words = [...counts].map(([kind, count]) => pluralize(count, kind));
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1) ?? ""}` : (words[0] ?? "");
}

/** The page of a citing object; null if it has none. */
export type CitationPage = "run" | "diff" | "experiment" | "bisection" | "replay" | null;

export function citationPage({ kind }: CitationView): CitationPage {
  if (kind === "fork" || kind === "revision") return "run";
  if (kind.endsWith("diff report")) return "diff";
  if (kind.startsWith("replay")) return "replay";
  if (kind.startsWith("bisection")) return "bisection";
  return kind === "experiment" ? "experiment" : null;
}

/** What an admin's deletion does to the objects that cite a run. */
export function consequences(citations: readonly CitationView[]): string[] {
  const has = (...kinds: string[]) => citations.some(({ kind }) => kinds.includes(kind));
  return [
    ...(has("fork") ? ["Forks stay, but lose every payload that they share with the run."] : []),
    ...(has("diff report", "shared diff report") ? ["Diff reports keep their scores and lose their content."] : []),
    ...(has("revision") ? ["Newer revisions stay complete."] : []),
    ...(has("experiment", "bisection", "proof") ? ["Experiments, bisections and proofs are deleted with it."] : []),
  ];
}
