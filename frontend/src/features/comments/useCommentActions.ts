import { useMutation, useQueryClient } from "@tanstack/react-query";
import { addComment, commentsQuery, deleteComment, editComment, restoreComment } from "@/api/comments";
import type { CommentSubject } from "@/api/comments";
import type { PatchedCommentEdit, CommentRequest } from "@/api/schema";
import { offerUndo } from "@/ui/offerUndo";
import { showFailure } from "@/ui/failure/failure";

interface NewComment {
  body: CommentRequest;
  name: string;
}

interface Change {
  id: string;
  body: PatchedCommentEdit;
}

/** Add, change and delete comments, and refetch those of the subject. A deletion can be undone. */
export function useCommentActions(subject: CommentSubject) {
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: commentsQuery(subject).queryKey });
  const add = useMutation({
    mutationFn: ({ body, name }: NewComment) => addComment(subject, body, name),
    onSuccess: refresh,
    onError: (error) => showFailure("The comment was not saved", error),
  });
  const change = useMutation({
    mutationFn: ({ id, body }: Change) => editComment(id, body),
    onSuccess: refresh,
    onError: (error) => showFailure("The comment was not changed", error),
  });
  const remove = useMutation({
    mutationFn: deleteComment,
    onSuccess: (_, id) => {
      offerUndo("The comment was deleted.", "The comment was not restored", async () => {
        try {
          await restoreComment(id);
        } finally {
          await refresh();
        }
      });
      return refresh();
    },
    onError: (error) => showFailure("The comment was not deleted", error),
  });
  return { add, change, remove };
}
