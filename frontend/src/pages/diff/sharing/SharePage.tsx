import { Skeleton } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { IconArrowRight, IconLinkOff } from "@tabler/icons-react";
import { useEffect, type ReactElement } from "react";
import type { DiffReport } from "@/api/schema";
import { sharedDiffQuery } from "@/api/diffs/diffs";
import { ProblemError } from "@/api/problem";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorPage } from "@/app/ErrorPage";
import { fullTime } from "@/ui/format/numbers";
import { DiffView } from "../DiffView";
import type { DiffSearch } from "../search";
import { baseName, candidateName } from "@/domain/diffs/candidateName";
import { paths } from "@/app/paths";
import { ProductLine } from "@/features/product/ProductLine";
import { Logo } from "@/app/shell/Logo";
import classes from "./SharePage.module.css";

const route = getRouteApi("/share/$token");

/** One report for readers without an account. It links to nothing else. */
export function SharePage(): ReactElement {
  const { token } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: report, error, refetch } = useQuery(sharedDiffQuery(token));
  useDocumentTitle(report ? `${candidateName(report)}: what changed and why` : "Shared report");
  useNoIndex();
  if (error) return isGone(error) ? <LinkUnavailable /> : <ErrorPage error={error} onRetry={() => void refetch()} />;
  if (!report) return <ReportSkeleton />;
  const onSearch = (change: Partial<DiffSearch>) =>
    void navigate({ search: (previous) => ({ ...previous, ...change }), replace: true, resetScroll: false });
  return (
    <div className={classes.page}>
      <Header report={report} />
      <DiffView report={report} hasLinks={false} search={search} onSearch={onSearch} />
      <footer className={classes.note}>
        <ProductLine />
      </footer>
    </div>
  );
}

function Header({ report }: { report: DiffReport }): ReactElement {
  return (
    <header className={classes.header}>
      <Logo />
      <div className="grow">
        <h1 className={classes.title}>
          <span>{baseName(report)}</span>
          <IconArrowRight size={15} stroke={1.8} aria-label="compared with" role="img" />
          <span className="muted">{candidateName(report)}</span>
        </h1>
        <p className={classes.note}>
          Made with Forkpoint, which forks and replays agent runs to find why they differ. Read-only report of{" "}
          {fullTime(report.created_at)}.
        </p>
      </div>
    </header>
  );
}

/** Unknown, expired, revoked, used up or not addressed to the reader. The page does not reveal which. */
function isGone(error: Error): boolean {
  return error instanceof ProblemError && [401, 403, 404, 410].includes(error.problem.status);
}

function LinkUnavailable(): ReactElement {
  return (
    <EmptyState isPage icon={<IconLinkOff size={28} stroke={1.5} />} title="This link does not open a report">
      It has expired, was revoked, reached its view limit, is incomplete, or requires sign-in.{" "}
      <Link {...paths.login()}>Sign in</Link> if you have an account, or ask the sender for a new one.
    </EmptyState>
  );
}

function ReportSkeleton(): ReactElement {
  return (
    <div className={classes.page} aria-busy="true" aria-label="Loading the report">
      <Skeleton height={38} width={420} radius="md" />
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
