import type { ReactElement, ReactNode } from "react";
import classes from "./ListPage.module.css";

/** A page that is one list: title, what it is about, one action. */
export function ListPage(props: {
  title: string;
  note: string;
  action?: ReactNode;
  children: ReactNode;
}): ReactElement {
  return (
    <div className={classes.page}>
      <header className={classes.header}>
        <div className="grow">
          <h1>{props.title}</h1>
          <p className={classes.note}>{props.note}</p>
        </div>
        {props.action}
      </header>
      <section className={`panel ${classes.body}`} aria-label={props.title}>
        {props.children}
      </section>
    </div>
  );
}
