import { IconAlertTriangle, IconBan, IconChevronRight, IconCircleX, IconInfoCircle } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import { counted } from "@/ui/format/numbers";
import classes from "./Overrides.module.css";
import { sentence } from "@/ui/format/text";

/** More warnings than this are folded beneath their number. */
const IN_SIGHT = 2;

interface Said {
  children: ReactNode;
}

/** What keeps the replay from starting. */
export function Refused({ children }: Said): ReactElement {
  return (
    <p className={`${classes.remark} failed`} role="alert">
      <IconCircleX size={14} aria-hidden /> <span>{children}</span>
    </p>
  );
}

export function Blocked({ children }: Said): ReactElement {
  return (
    <p className={classes.remark}>
      <IconBan size={13} aria-hidden /> <span>{children}</span>
    </p>
  );
}

export function Note({ children }: Said): ReactElement {
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

/** What may differ from what one expects; many are folded. */
export function Warnings({ texts }: { texts: readonly string[] }): ReactElement {
  const lines = texts.map((text) => <Warning key={text} text={text} />);
  if (texts.length <= IN_SIGHT) return <>{lines}</>;
  return (
    <details className={classes.warnings}>
      <summary>
        <IconChevronRight size={13} aria-hidden />
        <IconAlertTriangle size={13} className="simulated" aria-hidden /> {counted(texts.length, "warning")}
      </summary>
      {lines}
    </details>
  );
}
