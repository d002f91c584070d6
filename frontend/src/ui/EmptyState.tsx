import type { ReactElement, ReactNode } from "react";
import classes from "./States.module.css";

/** Says that there is nothing, why, and what to do about it. */
export function EmptyState(props: {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  /** The whole page is this: its title is the page's. */
  isPage?: boolean;
}): ReactElement {
  return (
    <div className={classes.state}>
      {props.icon && <div className={classes.icon}>{props.icon}</div>}
      {props.isPage ? <h1>{props.title}</h1> : <h2 className={classes.title}>{props.title}</h2>}
      {props.children && <div className={classes.text}>{props.children}</div>}
      {props.action && <div className={classes.action}>{props.action}</div>}
    </div>
  );
}
