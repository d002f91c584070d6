import { UnstyledButton } from "@mantine/core";
import { IconMessage, IconMessagePlus } from "@tabler/icons-react";
import { lazy, Suspense, useState, type KeyboardEvent, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import type { DiffPlace } from "@/api/schema";
import { useComments, useThreads } from "@/features/comments/commentsContext";
import { countOpen } from "@/features/comments/discussion";
import { pluralize } from "@/ui/format/numbers";
import classes from "./LineComments.module.css";

const Discussion = lazy(() => loadPart(() => import("@/features/comments/Discussion")));

interface Props {
  place: DiffPlace;
  /** What a new comment is about, such as “this line”. */
  subjectWords: string;
  Tag?: "div" | "dd";
}

/** A button at the end of a line that opens its comments below it: visible on hover and focus, or if there are some. */
export function LineComments({ place, subjectWords, Tag = "div" }: Props): ReactElement | null {
  const page = useComments();
  const threads = useThreads({ place });
  const [isOpen, setOpen] = useState(false);
  if (!page || (page.role === null && threads.length === 0)) return null;
  const total = countOpen(threads);
  return (
    <>
      <Tag className={classes.place}>
        <UnstyledButton
          className={classes.button}
          data-comments
          data-used={threads.length > 0}
          // The arrow keys reach the lines without comments.
          tabIndex={threads.length > 0 || isOpen ? 0 : -1}
          aria-expanded={isOpen}
          aria-label={threads.length > 0 ? pluralize(total, "comment") : `Comment on ${subjectWords}`}
          onClick={() => setOpen((value) => !value)}
        >
          {threads.length > 0 ? (
            <>
              <IconMessage size={13} aria-hidden /> <span className="num">{total}</span>
            </>
          ) : (
            <IconMessagePlus size={14} aria-hidden />
          )}
        </UnstyledButton>
      </Tag>
      {isOpen && (
        <Tag className={classes.discussion}>
          <Suspense>
            <Discussion
              page={page}
              anchor={{ place }}
              subjectWords={subjectWords}
              startsOpen
              onClose={() => setOpen(false)}
            />
          </Suspense>
        </Tag>
      )}
    </>
  );
}

/** Move the focus between the comment buttons of a difference by the arrow keys. */
export function moveBetweenLines(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-comments]")];
  const current = buttons.findIndex((button) => button === document.activeElement);
  const next = buttons[current < 0 ? (step > 0 ? 0 : buttons.length - 1) : current + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
