import { ActionIcon, Tooltip } from "@mantine/core";
import { IconPencil, IconTrash } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import type { CommentView } from "@/api/schema";
import { MarkdownText } from "@/features/markdown/MarkdownText";
import { fullTime, timeAgo } from "@/ui/format/numbers";
import type { CommentSubject } from "@/api/comments";
import { Composer } from "./Composer";
import { authorName } from "./discussion";
import { useCommentActions } from "./useCommentActions";
import classes from "./Comments.module.css";

interface Props {
  comment: CommentView;
  subject: CommentSubject;
}

/** One comment. Its author can edit and delete it. */
export function CommentCard({ comment, subject }: Props): ReactElement {
  const [isEditing, setEditing] = useState(false);
  const { change, remove } = useCommentActions(subject);
  const author = authorName(comment);
  const save = (text: string) =>
    change.mutate({ id: comment.id, body: { text, is_resolved: null } }, { onSuccess: () => setEditing(false) });
  if (comment.deleted_at !== null) return <p className={`muted ${classes.deleted}`}>This comment was deleted.</p>;
  return (
    <article className={classes.comment} aria-label={`Comment by ${author}`}>
      <header className={classes.head}>
        <b>{author}</b>
        {comment.is_visitor && !comment.mine && (
          <span className="chip" title="Wrote through a share link, under a name of their choice">
            visitor
          </span>
        )}
        <span className="muted" title={fullTime(comment.at)}>
          {timeAgo(comment.at)}
        </span>
        {comment.edited_at !== null && (
          <span className="muted" title={fullTime(comment.edited_at)}>
            edited
          </span>
        )}
        <span className="grow" />
        {comment.mine && (
          <Tooltip label="Edit">
            <ActionIcon size={24} aria-label="Edit your comment" onClick={() => setEditing(true)}>
              <IconPencil size={14} />
            </ActionIcon>
          </Tooltip>
        )}
        {comment.may_delete && (
          <Tooltip label="Delete">
            <ActionIcon
              size={24}
              aria-label={comment.mine ? "Delete your comment" : `Delete the comment by ${author}`}
              onClick={() => remove.mutate(comment.id)}
              loading={remove.isPending}
            >
              <IconTrash size={14} />
            </ActionIcon>
          </Tooltip>
        )}
      </header>
      {isEditing ? (
        <Composer
          label="Edit your comment"
          action="Save"
          initialText={comment.text}
          isPending={change.isPending}
          onSubmit={save}
          onCancel={() => setEditing(false)}
        />
      ) : (
        <MarkdownText text={comment.text} />
      )}
    </article>
  );
}
