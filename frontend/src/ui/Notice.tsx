import type { ReactElement, ReactNode } from "react";
import classes from "./Notice.module.css";

interface Props {
  icon: ReactElement;
  /** A link after the text. */
  link: ReactNode;
  children: ReactNode;
}

/** A quiet notice above a page's content. */
export function Notice({ icon, link, children }: Props): ReactElement {
  return (
    <p className={classes.notice}>
      {icon}
      <span>{children}</span>
      {link}
    </p>
  );
}
