/** The comments on the run or the report of a page. */
import { createContext, useContext } from "react";
import type { CommentSubject } from "@/api/comments";
import { anchorKey, type Anchor, type Thread, type Threads } from "./discussion";

export interface CommentsOfPage {
  subject: CommentSubject;
  threads: Threads;
  /** As whom the reader may write; null: only read. */
  role: "member" | "visitor" | null;
}

export const CommentsContext = createContext<CommentsOfPage | null>(null);

/** Null on pages without comments, such as those of links that do not allow them. */
export function useComments(): CommentsOfPage | null {
  return useContext(CommentsContext);
}

const NO_THREADS: readonly Thread[] = [];

export function useThreads(anchor: Anchor): readonly Thread[] {
  return useComments()?.threads.get(anchorKey(anchor)) ?? NO_THREADS;
}
