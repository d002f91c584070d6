import { IconGavel, IconPinFilled } from "@tabler/icons-react";
import type { ReactElement } from "react";
import classes from "./Retention.module.css";

/** Icons of a run that is pinned or under legal hold. */
export function Marks({ run }: { run: { is_pinned: boolean; is_held: boolean } }): ReactElement | null {
  if (!run.is_pinned && !run.is_held) return null;
  return (
    <span className={classes.marks}>
      {run.is_pinned && (
        <span role="img" aria-label="Pinned" title="Pinned: retention keeps it">
          <IconPinFilled size={13} />
        </span>
      )}
      {run.is_held && (
        <span role="img" aria-label="Under legal hold" title="Under legal hold: it cannot be deleted">
          <IconGavel size={14} />
        </span>
      )}
    </span>
  );
}
