import { IconMessage } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { pluralize } from "@/ui/format/numbers";
import { useThreads } from "./commentsContext";
import { countOpen } from "./discussion";
import classes from "./Comments.module.css";

/** The number of open comments on a step, in a list of steps. */
export function CommentCount({ step }: { step: number }): ReactElement | null {
  const total = countOpen(useThreads({ step }));
  if (total === 0) return null;
  return (
    <span className={`${classes.count} num`} role="img" aria-label={pluralize(total, "comment")}>
      <IconMessage size={13} aria-hidden /> {total}
    </span>
  );
}
