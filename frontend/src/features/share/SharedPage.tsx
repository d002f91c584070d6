import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, Navigate } from "@tanstack/react-router";
import { IconLinkOff } from "@tabler/icons-react";
import { useEffect, type ReactElement, type ReactNode } from "react";
import { ProblemError } from "@/api/problem";
import type { ShareTicket } from "@/api/schema";
import { ticketQuery, type ShareKind } from "@/api/shares";
import { paths } from "@/app/paths";
import { MadeWith } from "@/features/product/MadeWith";
import { Logo } from "@/ui/brand/Logo";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorState } from "@/ui/ErrorState";
import { VisitContext } from "./visit";
import classes from "./SharedPage.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";

interface Props {
  token: string;
  /** The kinds of subjects that the page shows. A link to another kind goes to the page of that kind. */
  kinds: readonly ShareKind[];
  children: (ticket: ShareTicket) => ReactNode;
}

/** Opens a link for a reader without an account. */
export function SharedPage({ token, kinds, children }: Props): ReactElement {
  const { data: ticket, error, refetch } = useQuery(ticketQuery(token));
  useNoIndex();
  if (error) return <Unavailable error={error} onRetry={() => void refetch()} />;
  if (!ticket) return <SharedSkeleton />;
  if (!kinds.includes(ticket.kind)) return <Navigate {...paths.shared(ticket.kind, token)} replace />;
  const run = ticket.kind === "run" ? ticket.subject : null;
  return <VisitContext value={{ token, run, allowsComments: ticket.allows_comments }}>{children(ticket)}</VisitContext>;
}

interface FrameProps {
  /** The title of the browser tab. */
  tab: string;
  title: ReactNode;
  /** Facts under the title. */
  note: ReactNode;
  actions?: ReactNode;
  /** The content fills the window. */
  isFull?: boolean;
  children: ReactNode;
}

/** Header and footer of a shared page. It links to nothing else. */
export function SharedFrame({ tab, title, note, actions, isFull = false, children }: FrameProps): ReactElement {
  usePageTitle(tab);
  return (
    <div className={classes.page} data-full={isFull}>
      <header className={classes.header}>
        <Logo />
        <div className="grow">
          <h1 className={classes.title}>{title}</h1>
          <div className={classes.note}>{note}</div>
        </div>
        {actions}
      </header>
      {children}
      <footer className={classes.note}>
        <MadeWith />
      </footer>
    </div>
  );
}

/** The page while the subject loads, and the reason if it does not. */
export function SharedState({ error, onRetry }: { error: Error | null; onRetry: () => void }): ReactElement {
  return error ? <Unavailable error={error} onRetry={onRetry} /> : <SharedSkeleton />;
}

function Unavailable({ error, onRetry }: { error: Error; onRetry: () => void }): ReactElement {
  const isLost = isGone(error);
  usePageTitle(isLost ? "Link cannot be opened" : "Shared");
  return (
    <div className={classes.page}>
      <header className={classes.header}>
        <Logo />
        <b>Forkpoint</b>
      </header>
      {isLost ? (
        <EmptyState isPage icon={<IconLinkOff size={28} stroke={1.5} />} title="This link cannot be opened">
          It has expired, was revoked, reached its view limit, is incomplete, or requires sign-in.{" "}
          <Link {...paths.login({ next: window.location.pathname })}>Sign in</Link> if you have an account, or ask the
          sender for a new one.
        </EmptyState>
      ) : (
        <ErrorState error={error} onRetry={onRetry} isPage />
      )}
      <footer className={classes.note}>
        <MadeWith />
      </footer>
    </div>
  );
}

/** Unknown, expired, revoked, used up or not addressed to the reader. The page does not reveal which. */
function isGone(error: Error): boolean {
  return error instanceof ProblemError && [401, 403, 404, 410].includes(error.problem.status);
}

function SharedSkeleton(): ReactElement {
  return (
    <div className={classes.page} aria-busy="true" aria-label="Loading">
      <Skeleton height={38} width={420} maw="100%" radius="md" />
      <Skeleton height={118} radius="md" />
      <Skeleton height={320} radius="md" />
    </div>
  );
}

/** The server sends the same in a header. The meta tag covers saved copies of the page. */
function useNoIndex(): void {
  useEffect(() => {
    const meta = document.createElement("meta");
    meta.name = "robots";
    meta.content = "noindex, nofollow";
    document.head.append(meta);
    return () => meta.remove();
  }, []);
}
