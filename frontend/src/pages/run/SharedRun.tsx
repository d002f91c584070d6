import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { memo, useCallback, useMemo, useRef, useState, type ReactElement } from "react";
import { sessionQuery } from "@/api/replays/replays";
import { runQuery, stepsQuery } from "@/api/runs/runs";
import type { RunDetail, ShareTicket, StepSummary } from "@/api/schema";
import { runTitle } from "@/domain/runs/title";
import { PageComments } from "@/features/comments/PageComments";
import { RunOutcome } from "@/features/runs/RunOutcome";
import { SharedFrame, SharedPage, SharedState } from "@/features/share/SharedPage";
import { EmptyState } from "@/ui/EmptyState";
import { shortenMarkers } from "@/ui/format/markers";
import { useScreenQuery } from "@/ui/paper/paper";
import { RunFacts } from "./header/RunFacts";
import { Regions, type RegionName } from "./Regions";
import type { RunSearch } from "./search";
import { SelectedStep, Selection, type SelectedRef } from "./selection";
import { StepPanel } from "./step/StepPanel";
import { StepsPanel } from "./steps/StepsPanel";
import { usePrint } from "./header/usePrint";
import { isWide, useStepPanel } from "./useStepPanel";
import { defaultView, firstStep } from "./views";

const route = getRouteApi("/share/$token/run");

const Step = memo(StepPanel);

/** One run, or the run that a replay wrote, for readers without an account. */
export function SharedRun(): ReactElement {
  const { token } = route.useParams();
  return (
    <SharedPage token={token} kinds={["run", "replay"]}>
      {(ticket) => (ticket.kind === "run" ? <Run id={ticket.subject} /> : <ReplayedRun ticket={ticket} />)}
    </SharedPage>
  );
}

function ReplayedRun({ ticket }: { ticket: ShareTicket }): ReactElement {
  const { data: session, error, refetch } = useQuery({ ...sessionQuery(ticket.subject), staleTime: Infinity });
  if (!session?.run) return <SharedState error={error} onRetry={() => void refetch()} />;
  return <Run id={session.run} />;
}

function Run({ id }: { id: string }): ReactElement {
  const run = useQuery(runQuery(id));
  const steps = useQuery(stepsQuery(id));
  const error = run.error ?? steps.error;
  if (error || !run.data || !steps.data) {
    return <SharedState error={error} onRetry={() => void Promise.all([run.refetch(), steps.refetch()])} />;
  }
  return (
    <PageComments subject={{ kind: "run", id }}>
      <LoadedRun run={run.data} steps={steps.data} />
    </PageComments>
  );
}

function LoadedRun({ run, steps }: { run: RunDetail; steps: StepSummary[] }): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const phone = useScreenQuery("(max-width: 56.25rem)");
  const [region, setRegion] = useState<RegionName>(search.step ? "step" : "steps");
  const usualView = useMemo(() => defaultView(steps), [steps]);
  const view = search.view ?? usualView;
  const stepPanel = useStepPanel(view, false);
  const selectedNumber = search.step ?? firstStep(steps, usualView);
  const selectedRef: SelectedRef = useRef(null);
  const change = useCallback(
    (next: Partial<RunSearch>) => void navigate({ search: (previous) => ({ ...previous, ...next }), replace: true }),
    [navigate],
  );
  const select = useCallback(
    (sequenceNo: number) => {
      change({ step: sequenceNo });
      setRegion((current) => (current === "steps" ? "step" : current));
    },
    [change],
  );
  usePrint(run);
  const title = shortenMarkers(runTitle(run));
  return (
    <SharedFrame
      tab={title}
      title={
        <>
          <RunOutcome run={run} withWord />
          <span>{title}</span>
        </>
      }
      note={<RunFacts run={run}>{run.source_run_name !== null && <span>{sourceWords(run)}</span>}</RunFacts>}
      isFull
    >
      <Selection number={selectedNumber} selectedRef={selectedRef}>
        <Regions
          phone={phone}
          region={region}
          onRegion={setRegion}
          isWide={isWide(view)}
          isStepShown={stepPanel.isShown}
          steps={
            <StepsPanel
              run={run.id}
              steps={steps}
              partial={false}
              selectedRef={selectedRef}
              fork={run.fork_sequence_no}
              plans={null}
              view={view}
              stepPanel={stepPanel}
              onView={(next) => change({ view: next })}
              onSelect={select}
              onShow={() => setRegion("steps")}
            />
          }
          step={
            <SelectedStep run={run.id} steps={steps} partial={false}>
              {(step, number) =>
                step ? (
                  <Step step={step} plan={null} onSelect={select} />
                ) : (
                  <EmptyState title={`There is no step ${number ?? ""}`}>Select a step in the list.</EmptyState>
                )
              }
            </SelectedStep>
          }
        />
      </Selection>
    </SharedFrame>
  );
}

/** The only thing that a link to a fork shows of its source. */
function sourceWords({ fork_sequence_no: step, source_run_name: name }: RunDetail): string {
  return `fork from step ${step ?? 1} of “${shortenMarkers(name ?? "")}”`;
}
