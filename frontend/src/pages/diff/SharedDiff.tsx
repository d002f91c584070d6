import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconArrowRight } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { diffQuery, isReport } from "@/api/diffs/diffs";
import { baseName, candidateName } from "@/domain/diffs/candidateName";
import { SharedFrame, SharedPage, SharedState } from "@/features/share/SharedPage";
import { fullTime } from "@/ui/format/numbers";
import { DiffView } from "./DiffView";
import type { DiffSearch } from "./search";

const route = getRouteApi("/share/$token/diff");

/** One report for readers without an account. */
export function SharedDiff(): ReactElement {
  const { token } = route.useParams();
  return (
    <SharedPage token={token} kinds={["diff"]}>
      {({ subject }) => <Report diff={subject} />}
    </SharedPage>
  );
}

function Report({ diff }: { diff: string }): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: report, error, refetch } = useQuery(diffQuery(diff));
  if (!isReport(report)) return <SharedState error={error} onRetry={() => void refetch()} />;
  const onSearch = (change: Partial<DiffSearch>) =>
    void navigate({ search: (previous) => ({ ...previous, ...change }), replace: true });
  return (
    <SharedFrame
      tab={`What changed: ${candidateName(report)}`}
      title={
        <span>
          {baseName(report)}
          <IconArrowRight size={15} stroke={1.8} aria-label="compared with" role="img" />
          <span className="muted">{candidateName(report)}</span>
        </span>
      }
      note={`Read-only report of ${fullTime(report.created_at)}`}
    >
      <DiffView report={report} hasLinks={false} search={search} onSearch={onSearch} />
    </SharedFrame>
  );
}
