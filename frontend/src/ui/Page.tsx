import { Skeleton } from "@mantine/core";
import { Fragment, type ReactElement, type ReactNode } from "react";
import classes from "./Page.module.css";

/** A scrolling page: a header, then panels. */
export function Page({ children }: { children: ReactNode }): ReactElement {
  return <div className={classes.page}>{children}</div>;
}

/** Placeholder of a page: its header, then one block per panel. */
export function PageLoading({ name, panels }: { name: string; panels: readonly number[] }): ReactElement {
  return (
    <div className={classes.page} aria-busy="true" aria-label={`Loading ${name}`}>
      <Skeleton height={60} width="min(26.25rem, 100%)" radius="md" />
      {panels.map((height) => (
        <Skeleton key={height} height={height} radius="md" />
      ))}
    </div>
  );
}

interface HeaderProps {
  /** Breadcrumb links. */
  crumbs?: readonly ReactNode[];
  title: ReactNode;
  note?: ReactNode;
  /** Current progress, announced on every change. */
  state?: ReactNode;
  progress?: ReactNode;
  /** Actions of the page. */
  children?: ReactNode;
}

export function PageHeader({ crumbs, title, note, state, progress, children }: HeaderProps): ReactElement {
  return (
    <header className={classes.header}>
      <div className={classes.titles}>
        {crumbs && (
          <nav className={classes.crumbs} aria-label="Breadcrumb">
            {crumbs.map((crumb, index) => (
              <Fragment key={index}>
                {index > 0 && " / "}
                {crumb}
              </Fragment>
            ))}
          </nav>
        )}
        <h1>{title}</h1>
        {note && <p className={classes.note}>{note}</p>}
        {state && (
          <div className={classes.state} role="status">
            {state}
          </div>
        )}
        {progress}
      </div>
      {children && <div className={classes.actions}>{children}</div>}
    </header>
  );
}

/** The head of a panel: its title, what it is about in a muted text, and its actions. */
export function PanelHead({ children }: { children: ReactNode }): ReactElement {
  return <header className={classes.panelHead}>{children}</header>;
}
