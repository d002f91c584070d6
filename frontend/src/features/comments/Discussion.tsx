import { Button } from "@mantine/core";
import { IconMessagePlus } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { Composer } from "./Composer";
import { useThreads, type CommentsOfPage } from "./commentsContext";
import type { Anchor } from "./discussion";
import { ThreadCard } from "./ThreadCard";
import { useCommentActions } from "./useCommentActions";
import classes from "./Comments.module.css";

interface Props {
  page: CommentsOfPage;
  anchor: Anchor;
  /** What a new comment is about, such as “step 5”. */
  subjectWords: string;
  /** Begins with the field for a new comment, and ends when that is cancelled. */
  startsOpen?: boolean;
  onClose?: () => void;
}

/** The threads on one step or place, and a way to begin another. */
export default function Discussion(props: Props): ReactElement {
  const { page, anchor, subjectWords, startsOpen = false, onClose } = props;
  const threads = useThreads(anchor);
  const [isComposing, setComposing] = useState(startsOpen && threads.length === 0);
  const { add } = useCommentActions(page.subject);
  const body = { thread: null, step: null, place: null, ...anchor };
  const cancel = () => {
    setComposing(false);
    if (threads.length === 0) onClose?.();
  };
  return (
    <section className={classes.discussion} aria-label={`Comments on ${subjectWords}`}>
      {threads.map((thread) => (
        <ThreadCard key={thread.first.id} thread={thread} page={page} />
      ))}
      {isComposing ? (
        <Composer
          label={`Comment on ${subjectWords}`}
          action="Comment"
          isPending={add.isPending}
          onSubmit={(text, name) =>
            add.mutate({ body: { ...body, text }, name }, { onSuccess: () => setComposing(false) })
          }
          onCancel={cancel}
        />
      ) : (
        page.role !== null && (
          <div className={classes.actions}>
            <Button
              variant="default"
              leftSection={<IconMessagePlus size={14} aria-hidden />}
              onClick={() => setComposing(true)}
            >
              Comment on {subjectWords}
            </Button>
            {onClose && (
              <Button variant="subtle" color="gray" onClick={onClose}>
                Close
              </Button>
            )}
          </div>
        )
      )}
    </section>
  );
}
