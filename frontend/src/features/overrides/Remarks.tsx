import { IconAlertTriangle, IconBan, IconChevronRight, IconCircleX, IconInfoCircle } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import { pluralize } from "@/ui/format/numbers";
import classes from "./Overrides.module.css";
import { sentence } from "@/ui/format/text";

/** More warnings than this are collapsed behind their count. */
const VISIBLE_LIMIT = 2;

interface RemarkProps {
  children: ReactNode;
}

/** A reason why the replay cannot start. */
export function Refusal({ children }: RemarkProps): ReactElement {
  return (
    <p className={`${classes.remark} failed`} role="alert">
      <IconCircleX size={14} aria-hidden /> <span>{children}</span>
    </p>
  );
}

export function BlockedStep({ children }: RemarkProps): ReactElement {
  return (
    <p className={classes.remark}>
      <IconBan size={13} aria-hidden /> <span>{children}</span>
    </p>
  );
}

export function Note({ children }: RemarkProps): ReactElement {
  return (
    <p className={`${classes.remark} muted`}>
      <IconInfoCircle size={13} aria-hidden /> <span>{children}</span>
    </p>
  );
}

function Warning({ text }: { text: string }): ReactElement {
  return (
    <p className={classes.remark}>
      <IconAlertTriangle size={13} className="simulated" aria-hidden /> <span>{sentence(text)}</span>
    </p>
  );
}

/** Warnings about the replay. Many are collapsed. */
export function Warnings({ texts }: { texts: readonly string[] }): ReactElement {
  const lines = texts.map((text) => <Warning key={text} text={text} />);
  if (texts.length <= VISIBLE_LIMIT) return <>{lines}</>;
  return (
    <details className={classes.warnings}>
      <summary>
        <IconChevronRight size={13} aria-hidden />
        <IconAlertTriangle size={13} className="simulated" aria-hidden /> {pluralize(texts.length, "warning")}
      </summary>
      {lines}
    </details>
  );
}
