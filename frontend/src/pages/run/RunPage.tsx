import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { memo, useCallback, useMemo, useRef, useState, type ReactElement, type ReactNode } from "react";
import { useLive } from "@/api/live";
import { runQuery, stepsFromQuery, stepsQuery } from "@/api/runs/runs";
import type { RunDetail, StepSummary } from "@/api/schema";
import { withOpenSteps } from "@/domain/steps/openSteps";
import { EmptyState } from "@/ui/EmptyState";
import { PageComments } from "@/features/comments/PageComments";
import { SourceNotice } from "@/features/retention/SourceNotice";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { useScreenQuery } from "@/ui/paper/paper";
import { MissingRun } from "./DeletedRun";
import { ForkPanel } from "./fork/ForkPanel";
import { useFork } from "./fork/useFork";
import { useReplayChanges } from "./fork/useReplayChanges";
import { NewerRevisionBanner } from "./header/RevisionMenu";
import { RecordingProblem } from "./header/RecordingProblem";
import { RunSkeleton } from "./RunSkeleton";
import { Regions, type RegionName } from "./Regions";
import { PlacesPanel } from "./places/PlacesPanel";
import { RunHeader } from "./header/RunHeader";
import classes from "./RunPage.module.css";
import { filterOf, filterSearch, omitUndefined, type RunSearch } from "./search";
import { SelectedStep, Selection, type SelectedRef } from "./selection";
import { useViewedStep } from "./useViewedStep";
import { StepPanel } from "./step/StepPanel";
import { StepsPanel } from "./steps/StepsPanel";
import type { StepFilter } from "./steps/tree";
import { isWide, useStepPanel } from "./useStepPanel";
import { defaultView, firstStep, type RunView } from "./views";

const route = getRouteApi("/runs/$run");

const Header = memo(RunHeader);
const Steps = memo(StepsPanel);
const Step = memo(StepPanel);
const EditedFork = memo(ForkPanel);

export function RunPage(): ReactElement {
  const { run: ref } = route.useParams();
  const run = useQuery(runQuery(ref));
  const first = useQuery(stepsFromQuery(ref, 1));
  const isLong = first.data !== undefined && first.data.next !== null;
  const allSteps = useQuery({ ...stepsQuery(ref), enabled: isLong });
  const recordedSteps = isLong && allSteps.data ? allSteps.data : first.data?.steps;
  const steps = useMemo(
    () => run.data && recordedSteps && withOpenSteps(run.data, recordedSteps),
    [run.data, recordedSteps],
  );
  const client = useQueryClient();
  const reload = () =>
    void Promise.all([
      run.refetch(),
      first.refetch(),
      isLong && allSteps.refetch(),
      // A step that was still open may have ended.
      client.invalidateQueries({ queryKey: ["step"] }),
      client.invalidateQueries({ queryKey: ["transcript"] }),
    ]);
  useLive(run.data && !run.data.sealed ? { run: run.data.id } : null, reload);
  const failed = run.error ?? first.error ?? allSteps.error;
  if (failed) return <MissingRun run={ref} error={failed} onRetry={reload} />;
  if (!run.data || !steps) return <RunSkeleton run={run.data} />;
  if (steps.length === 0) {
    return (
      <EmptyState isPage title="This run has no steps">
        The recording is empty, or its steps have not arrived yet.
      </EmptyState>
    );
  }
  return (
    <PageComments key={run.data.id} subject={{ kind: "run", id: run.data.id }}>
      <LoadedRun run={run.data} steps={steps} partial={isLong && !allSteps.data} />
    </PageComments>
  );
}

function LoadedRun({ run, steps, partial }: { run: RunDetail; steps: StepSummary[]; partial: boolean }): ReactElement {
  const panels = usePanels();
  const { fork: forkStep = null, view: chosenView, from_session: fromSession = null } = panels;
  const [filter] = useState(() => filterOf(panels));
  const hasStep = route.useSearch({ select: ({ step }) => step !== undefined });
  const navigate = useNavigate();
  const phone = useScreenQuery("(max-width: 56.25rem)");
  const [region, setRegion] = useState<RegionName>(forkStep !== null ? "fork" : hasStep ? "step" : "steps");
  const fork = useFork(run.id, forkStep);
  const usualView = useMemo(() => defaultView(steps), [steps]);
  const view = chosenView ?? usualView;
  const stepPanel = useStepPanel(view, forkStep !== null);
  const selectedRef: SelectedRef = useRef(null);

  const changeSearch = useCallback(
    (change: { [Name in keyof RunSearch]?: RunSearch[Name] | undefined }, replace = true) =>
      void navigate({
        to: "/runs/$run",
        params: { run: run.id },
        search: (current: RunSearch) => omitUndefined({ ...current, ...change }),
        replace,
      }),
    [navigate, run.id],
  );
  const select = useCallback(
    (sequenceNo: number) => {
      changeSearch({ step: sequenceNo });
      setRegion((current) => (current === "steps" ? "step" : current));
    },
    [changeSearch],
  );
  const showSteps = useCallback(() => setRegion("steps"), []);
  const openForkAt = useCallback(
    (step: number) => {
      changeSearch({ fork: step, step }, false);
      setRegion("fork");
    },
    [changeSearch],
  );
  const { move: moveFork } = fork;
  const openFork = useCallback(() => {
    const step = selectedRef.current;
    if (step === null || !run.sealed) return;
    moveFork(step);
    openForkAt(step);
  }, [run.sealed, moveFork, openForkAt]);
  const onFilled = useCallback(() => changeSearch({ from_session: undefined }), [changeSearch]);
  const replayChanges = useReplayChanges(fromSession, fork, onFilled);
  const storeFilter = useCallback((filter: StepFilter) => changeSearch(filterSearch(filter)), [changeSearch]);
  const setView = useCallback((view: RunSearch["view"]) => changeSearch({ view }), [changeSearch]);
  const forkAction = useMemo(() => ({ step: forkStep, onOpen: openFork }), [forkStep, openFork]);
  const closeFork = useCallback(() => {
    changeSearch({ fork: undefined, from_session: undefined }, false);
    setRegion("step");
  }, [changeSearch]);
  useShortcuts("Run", [
    { keys: "f", action: "Fork from the selected step", run: openFork },
    ...(forkStep !== null
      ? [{ keys: "Escape", action: "Close the fork panel", run: closeFork }]
      : stepPanel.isShown
        ? []
        : [{ keys: "Escape", action: "Show the step panel", run: stepPanel.toggle }]),
  ]);

  return (
    <RunSelection steps={steps} usualView={usualView} selectedRef={selectedRef} onMoved={select}>
      <div className={classes.page}>
        <title>{`${run.name} · Forkpoint`}</title>
        <Header run={run} fork={forkAction} />
        <NewerRevisionBanner run={run} />
        <RecordingProblem run={run} />
        {run.source_run !== null && run.source_deleted_at !== null && (
          <SourceNotice
            subject="Its source"
            time={run.source_deleted_at}
            note={run.source_removed_at === null ? "" : "What this fork shared with it is unavailable."}
            run={run.source_run}
          />
        )}
        <PlacesPanel run={run} onSelect={select} />
        <Regions
          phone={phone}
          region={region}
          onRegion={setRegion}
          isWide={isWide(view)}
          isStepShown={stepPanel.isShown}
          steps={
            <Steps
              run={run.id}
              steps={steps}
              partial={partial}
              isRecording={run.status === "running"}
              selectedRef={selectedRef}
              fork={forkStep ?? run.fork_sequence_no}
              plans={forkStep === null ? null : fork.stepPlans}
              view={view}
              stepPanel={stepPanel}
              filter={filter}
              onFilter={storeFilter}
              onView={setView}
              onSelect={select}
              onShow={showSteps}
            />
          }
          step={
            <SelectedStep run={run.id} steps={steps} partial={partial}>
              {(step, number) =>
                step ? (
                  <Step
                    step={step}
                    plan={fork.stepPlans?.get(step.sequence_no) ?? null}
                    onSelect={select}
                    isRecording={!run.sealed}
                    onFork={openFork}
                  />
                ) : (
                  <EmptyState title={partial ? "Loading…" : `There is no step ${number ?? ""}`}>
                    {partial ? "The step is loading." : "Select a step in the list."}
                  </EmptyState>
                )
              }
            </SelectedStep>
          }
          fork={
            forkStep === null ? null : (
              <SelectedStep run={run.id} steps={steps} partial={partial}>
                {(step) => (
                  <EditedFork
                    run={run}
                    fork={fork}
                    forkStep={forkStep}
                    replayChanges={replayChanges}
                    step={step}
                    onMoveHere={openFork}
                    onOpenFork={openForkAt}
                    onSelect={select}
                    onClose={closeFork}
                  />
                )}
              </SelectedStep>
            )
          }
          isRecording={!run.sealed}
          onOpenFork={openFork}
        />
      </div>
    </RunSelection>
  );
}

/** All that the address stores but the selected step, which changes with each key. */
function usePanels(): Omit<RunSearch, "step"> {
  return route.useSearch({ select: ({ step: _, ...panels }) => panels, structuralSharing: true });
}

interface SelectionProps {
  steps: readonly StepSummary[];
  usualView: RunView;
  selectedRef: SelectedRef;
  /** The selected step has another number than before. */
  onMoved: (sequenceNo: number) => void;
  children: ReactNode;
}

/** The selection that the address stores. */
function RunSelection({ steps, usualView, selectedRef, onMoved, children }: SelectionProps): ReactElement {
  const linkedNumber = route.useSearch({ select: ({ step, fork }) => step ?? fork });
  const number = linkedNumber ?? firstStep(steps, usualView);
  useViewedStep(steps, number, onMoved);
  return (
    <Selection number={number} selectedRef={selectedRef}>
      {children}
    </Selection>
  );
}
