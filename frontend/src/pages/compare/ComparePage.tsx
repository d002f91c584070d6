import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, Navigate } from "@tanstack/react-router";
import { IconX } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { compare } from "@/api/diffs/diffs";
import { runQuery } from "@/api/runs/runs";
import { fullTitle } from "@/domain/runs/title";
import { RunOutcome } from "@/features/runs/RunOutcome";
import { ErrorState } from "@/ui/ErrorState";
import { ComparisonPending } from "@/features/diffs/ComparisonPending";
import { Page, PageHeader } from "@/ui/Page";
import { paths } from "@/app/paths";
import { RunPicker } from "./RunPicker";
import classes from "./ComparePage.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";

const route = getRouteApi("/compare");

/** Compare two runs. Asks for the missing side. */
export function ComparePage(): ReactElement {
  const { base, candidate } = route.useSearch();
  const navigate = route.useNavigate();
  usePageTitle("Compare two runs");
  if (base && candidate) return <RunComparison key={`${base} ${candidate}`} base={base} candidate={candidate} />;
  const choose = (side: "base" | "candidate", run: string | undefined) =>
    void navigate({ search: (previous) => ({ ...previous, [side]: run }), replace: true });
  return (
    <Page>
      <PageHeader
        crumbs={[<Link {...paths.activity()}>Activity</Link>]}
        title="Compare two runs"
        note="Compare a known base run with a new candidate run. The report shows what changed and why."
      />
      <div className={classes.sides}>
        <SideChoice name="Base" run={base} otherRun={candidate} onChoose={(run) => choose("base", run)} />
        <SideChoice name="Candidate" run={candidate} otherRun={base} onChoose={(run) => choose("candidate", run)} />
      </div>
    </Page>
  );
}

interface SideProps {
  name: string;
  run: string | undefined;
  otherRun: string | undefined;
  onChoose: (run: string | undefined) => void;
}

function SideChoice({ name, run, otherRun, onChoose }: SideProps): ReactElement {
  return (
    <section className={`panel ${classes.side}`} aria-label={name}>
      <h2>{name}</h2>
      {run ? (
        <SelectedRun run={run} onClear={() => onChoose(undefined)} />
      ) : (
        <RunPicker label={name} otherRun={otherRun} onChoose={onChoose} />
      )}
    </section>
  );
}

function SelectedRun({ run, onClear }: { run: string; onClear: () => void }): ReactElement {
  const { data, error } = useQuery(runQuery(run));
  return (
    <div className={classes.chosen}>
      {data && <RunOutcome run={data} withWord />}
      <b className="grow">{data ? fullTitle(data) : error ? error.message : "…"}</b>
      <button type="button" className={classes.clear} onClick={onClear} aria-label="Choose another run">
        <IconX size={14} />
      </button>
    </div>
  );
}

/** Compare two runs. Idempotent, so a reload costs nothing. */
function RunComparison({ base, candidate }: { base: string; candidate: string }): ReactElement {
  const { data, error, refetch } = useQuery({
    queryKey: ["compare", base, candidate],
    queryFn: () => compare({ base, candidate, options: { similarity: "auto" } }),
    staleTime: Infinity,
  });
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data) return <Navigate {...paths.diff(data.id)} replace />;
  return <ComparisonPending />;
}
