// Revisions of a run: recordings with the same id, of which a later one continues or contradicts an earlier one.
import type { NewerRevision, RunDetail, RunRevision } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";

/** The newest revision that continues a run; null if there is none. */
export function newerRevision(run: Pick<RunDetail, "latest" | "revisions" | "steps">): NewerRevision | null {
  const latest = run.revisions.find((revision) => revision.id === run.latest);
  return latest ? { id: latest.id, revision: latest.revision, added_steps: latest.steps - run.steps } : null;
}

/** "A newer revision of this run exists (12 more steps)." */
export function newerRevisionWords(subject: string, { added_steps }: NewerRevision): string {
  const amount = added_steps > 0 ? ` (${pluralize(added_steps, "more step")})` : "";
  return `A newer revision of ${subject} exists${amount}.`;
}

/** "Revision 2 of 3". The newest comes first in the list. */
export function revisionWords(run: Pick<RunDetail, "revision" | "revisions">): string {
  return `Revision ${run.revision} of ${run.revisions[0]?.revision ?? run.revision}`;
}

/** How a revision relates to the others; empty if it continues the one before it, or is the first. */
export function revisionNote(revision: RunRevision, revisions: readonly RunRevision[]): string {
  if (revision.supersedes === null) return revision.revision === 1 ? "" : "conflicting recording";
  const previous = revisions.find(({ id }) => id === revision.supersedes);
  return previous && previous.revision !== revision.revision - 1 ? `continues revision ${previous.revision}` : "";
}
