import { ActionIcon, Menu, Skeleton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { IconArrowRight, IconDots, IconStethoscope, IconTrash } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { DiffReport } from "@/api/schema";
import { ProblemError } from "@/api/problem";
import { EmptyState } from "@/ui/EmptyState";
import { sentence } from "@/ui/format/text";
import { commentsQuery } from "@/api/comments";
import { diffQuery, isReport } from "@/api/diffs/diffs";
import { ErrorPage } from "@/app/ErrorPage";
import { paths, serverPaths } from "@/app/paths";
import { ComparisonPending } from "@/features/diffs/ComparisonPending";
import { ShareButton } from "@/features/share/ShareButton";
import { BisectDialog } from "@/features/bisections/BisectDialog";
import { ExportMenu } from "@/ui/buttons/ExportMenu";
import { DiffView } from "./DiffView";
import { baseName, candidateName } from "@/domain/diffs/candidateName";
import type { DiffSearch } from "./search";
import classes from "./DiffPage.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";

// HTTP status of a report whose content was deleted.
const STATUS_DELETED = 410;

const route = getRouteApi("/diffs/$diff");

export function DiffPage(): ReactElement {
  const { diff } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: response, error, refetch } = useQuery(diffQuery(diff));
  const report = isReport(response) ? response : null;
  usePageTitle(report ? `What changed: ${report.base.name}` : "Diff");
  if (error instanceof ProblemError && error.problem.status === STATUS_DELETED)
    return <DeletedReport problem={error} />;
  if (error) return <ErrorPage error={error} onRetry={() => void refetch()} />;
  if (!response) return <DiffSkeleton />;
  if (!report) return <ComparisonPending />;
  const onSearch = (change: Partial<DiffSearch>) =>
    void navigate({ search: (previous) => ({ ...previous, ...change }), replace: true });
  return (
    <div className={classes.page}>
      <Header report={report} />
      <DiffView report={report} hasLinks search={search} onSearch={onSearch} />
    </div>
  );
}

/** A report whose content went with a run that it compared. */
function DeletedReport({ problem }: { problem: ProblemError }): ReactElement {
  return (
    <EmptyState
      isPage
      icon={<IconTrash size={28} stroke={1.5} />}
      title="The source of this report was deleted"
      action={<Link {...paths.activity({ kind: "diff" })}>Go to diffs</Link>}
    >
      {sentence(problem.message)}
    </EmptyState>
  );
}

function Header({ report }: { report: DiffReport }): ReactElement {
  const [isBisecting, bisectDialog] = useDisclosure(false);
  return (
    <header className={classes.header}>
      <div className={classes.titles}>
        <nav className={classes.crumbs} aria-label="Breadcrumb">
          <Link {...paths.activity({ kind: "diff" })}>Activity</Link> / <span>{report.base.app}</span> /{" "}
          <span>Diff</span>
        </nav>
        <h1 className={classes.title}>
          <Link {...paths.run(report.base.id)}>{baseName(report)}</Link>
          <span className={classes.candidate}>
            <IconArrowRight size={15} stroke={1.8} aria-label="compared with" role="img" />
            <Link {...paths.run(report.candidate.id)}>{candidateName(report)}</Link>
          </span>
        </h1>
      </div>
      <div className={classes.actions}>
        <ShareButton subject={{ kind: "diff", id: report.id }} group="Report" />
        <ExportReport diff={report.id} />
        <Menu position="bottom-end" shadow="md">
          <Menu.Target>
            <ActionIcon variant="default" aria-label="More actions">
              <IconDots size={16} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<IconStethoscope size={14} />} onClick={bisectDialog.open}>
              Bisect the failing run…
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </div>
      {isBisecting && (
        <BisectDialog
          subject={{ diff: report.id }}
          sourceRun={report.candidate.id}
          runNames={{
            [report.base.id]: `${baseName(report)} (base)`,
            [report.candidate.id]: `${candidateName(report)} (candidate)`,
          }}
          onClose={bisectDialog.close}
        />
      )}
    </header>
  );
}

const FORMATS = [
  { format: "html", label: "HTML, a single self-contained file" },
  { format: "md", label: "Markdown, for an issue or a review" },
  { format: "json", label: "JSON, complete" },
] as const;
const COMMENTED_FORMATS = [
  { format: "html", label: "HTML with the comments" },
  { format: "md", label: "Markdown with the comments" },
] as const;

function ExportReport({ diff }: { diff: string }): ReactElement {
  const { data } = useQuery(commentsQuery({ kind: "diff", id: diff }));
  const hasComments = data !== undefined && data.comments.length > 0;
  const fileOf = (format: "html" | "md" | "json", label: string, query = "") => ({
    label,
    href: serverPaths.diffFile(diff, format) + query,
    name: `diff-${diff}.${format}`,
  });
  return (
    <ExportMenu
      files={[
        ...FORMATS.map(({ format, label }) => fileOf(format, label)),
        ...(hasComments ? COMMENTED_FORMATS.map(({ format, label }) => fileOf(format, label, "&comments=true")) : []),
      ]}
    />
  );
}

function DiffSkeleton(): ReactElement {
  return (
    <div className={classes.page} aria-busy="true" aria-label="Loading the report">
      <Skeleton height={38} width={420} radius="md" />
      <Skeleton height={118} radius="md" />
      <Skeleton height={320} radius="md" />
      <Skeleton height={240} radius="md" />
    </div>
  );
}
