import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, type ReactElement, type ReactNode } from "react";
import { accessQuery } from "@/api/access";
import { commentsQuery, type CommentSubject } from "@/api/comments";
import { useLive } from "@/api/live";
import { useVisit } from "@/features/share/visit";
import { CommentsContext } from "./commentsContext";
import { threadsByAnchor } from "./discussion";

interface Props {
  subject: CommentSubject;
  children: ReactNode;
}

/** Gives the components of a page the comments on its run or report. */
export function PageComments({ subject: { kind, id }, children }: Props): ReactElement {
  const visit = useVisit();
  const isAllowed = visit?.allowsComments ?? true;
  const client = useQueryClient();
  const { data: access } = useQuery({ ...accessQuery, enabled: visit === null });
  const { data } = useQuery({ ...commentsQuery({ kind, id }), enabled: isAllowed });
  const topic = kind === "run" ? { run: id } : { diff: id };
  useLive(
    visit ? null : topic,
    () => void client.invalidateQueries({ queryKey: commentsQuery({ kind, id }).queryKey }),
  );
  const mayWrite = access?.role === "admin" || access?.role === "debugger";
  const role = visit ? ("visitor" as const) : mayWrite ? ("member" as const) : null;
  const value = useMemo(
    () => (isAllowed ? { subject: { kind, id }, threads: threadsByAnchor(data?.comments ?? []), role } : null),
    [isAllowed, kind, id, data, role],
  );
  return <CommentsContext value={value}>{children}</CommentsContext>;
}
