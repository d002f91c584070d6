import type { ReactElement, ReactNode } from "react";
import classes from "./States.module.css";

/** An empty state: what is missing, why, and what to do. */
export function EmptyState(props: {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  /** The empty state is the whole page, so its title is the page's heading. */
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
