/** Comments as threads, by what they are about. */
import type { CommentView, DiffPlace } from "@/api/schema";

/** What a comment is about: a step of the run, or a place in the report. */
export type Anchor = { step: number } | { place: DiffPlace };

export interface Thread {
  first: CommentView;
  replies: readonly CommentView[];
}

export type Threads = ReadonlyMap<string, readonly Thread[]>;

export function anchorKey(anchor: Anchor): string {
  if ("step" in anchor) return `step ${anchor.step}`;
  const { section, kind, base, candidate, occurrence, part, line } = anchor.place;
  return JSON.stringify([section, kind, base, candidate, occurrence, part, line]);
}

function anchorOf({ step, place }: CommentView): Anchor | null {
  if (step !== null) return { step };
  return place && { place };
}

/** Threads by the key of their anchor, oldest first. */
export function threadsByAnchor(comments: readonly CommentView[]): Threads {
  const threads = new Map<string, Thread[]>();
  for (const first of comments) {
    const anchor = anchorOf(first);
    if (first.thread !== null || !anchor) continue;
    const replies = comments.filter(({ thread }) => thread === first.id);
    const key = anchorKey(anchor);
    threads.set(key, [...(threads.get(key) ?? []), { first, replies }]);
  }
  return threads;
}

/** The number of comments in unresolved threads. */
export function countOpen(threads: readonly Thread[]): number {
  return threads
    .filter(({ first }) => first.resolved_at === null)
    .reduce((sum, { first, replies }) => sum + replies.length + (first.deleted_at === null ? 1 : 0), 0);
}

/** Who wrote a comment. On a server without sign-in, all comments in the cockpit are by `local`. */
export function authorName({ by, mine, is_visitor, deleted_at }: CommentView): string {
  if (deleted_at !== null) return "Deleted";
  if (mine) return "You";
  return by === "local" && !is_visitor ? "The owner" : by;
}
