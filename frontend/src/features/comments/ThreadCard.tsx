import { Button } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { pluralize } from "@/ui/format/numbers";
import { CommentCard } from "./CommentCard";
import { Composer } from "./Composer";
import type { CommentsOfPage } from "./commentsContext";
import { authorName, type Thread } from "./discussion";
import { useCommentActions } from "./useCommentActions";
import classes from "./Comments.module.css";

interface Props {
  thread: Thread;
  page: CommentsOfPage;
}

/** A comment with its replies. A resolved thread is folded. */
export function ThreadCard({ thread: { first, replies }, page }: Props): ReactElement {
  const { subject, role } = page;
  const [isReplying, setReplying] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const { add, change } = useCommentActions(subject);
  const isResolved = first.resolved_at !== null;
  const mayResolve = first.deleted_at === null && (role === "member" || (role === "visitor" && first.mine));
  const reply = (text: string, name: string) =>
    add.mutate(
      { body: { text, thread: first.id, step: null, place: null }, name },
      { onSuccess: () => setReplying(false) },
    );
  if (isResolved && !isOpen) {
    return (
      <Button
        variant="default"
        justify="start"
        leftSection={<IconCheck size={14} className="exact" aria-hidden />}
        onClick={() => setOpen(true)}
      >
        Resolved: {pluralize(replies.length + 1, "comment")} by {authorName(first)}
      </Button>
    );
  }
  return (
    <div className={classes.thread} role="group" aria-label="Thread" data-resolved={isResolved}>
      <CommentCard comment={first} subject={subject} />
      {replies.map((comment) => (
        <div key={comment.id} className={classes.reply}>
          <CommentCard comment={comment} subject={subject} />
        </div>
      ))}
      {isReplying ? (
        <Composer
          label="Reply"
          action="Reply"
          isPending={add.isPending}
          onSubmit={reply}
          onCancel={() => setReplying(false)}
        />
      ) : (
        role !== null && (
          <div className={classes.actions}>
            <Button variant="default" onClick={() => setReplying(true)}>
              Reply
            </Button>
            {mayResolve && (
              <Button
                variant="subtle"
                color="gray"
                loading={change.isPending}
                onClick={() => change.mutate({ id: first.id, body: { text: null, is_resolved: !isResolved } })}
              >
                {isResolved ? "Reopen" : "Resolve"}
              </Button>
            )}
          </div>
        )
      )}
    </div>
  );
}
