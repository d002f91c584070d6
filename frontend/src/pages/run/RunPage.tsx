import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { memo, useCallback, useState, type ReactElement } from "react";
import { useLive } from "@/api/live";
import { runQuery, stepsFromQuery, stepsQuery } from "@/api/runs/runs";
import type { RunDetail, StepSummary } from "@/api/schema";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorPage } from "@/app/ErrorPage";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { ForkPanel } from "./fork/ForkPanel";
import { useFork } from "./fork/useFork";
import { useForkOf } from "./fork/useReplayChanges";
import { Loading } from "./RunSkeleton";
import { Regions, type RegionName } from "./Regions";
import { Places } from "./places/PlacesPanel";
import { RunHeader } from "./RunHeader";
import classes from "./RunPage.module.css";
import type { RunSearch } from "./search";
import { StepPanel } from "./step/StepPanel";
import { StepsPanel } from "./steps/StepsPanel";

const route = getRouteApi("/runs/$run");

const Header = memo(RunHeader);
const Steps = memo(StepsPanel);
const Step = memo(StepPanel);

export function RunPage(): ReactElement {
  const { run: ref } = route.useParams();
  const run = useQuery(runQuery(ref));
  const first = useQuery(stepsFromQuery(ref, 1));
  const isLong = first.data !== undefined && first.data.next !== null;
  const all = useQuery({ ...stepsQuery(ref), enabled: isLong });
  const steps = isLong && all.data ? all.data : first.data?.steps;
  const reload = () => void Promise.all([run.refetch(), first.refetch(), isLong && all.refetch()]);
  useLive(run.data && !run.data.sealed ? { run: run.data.id } : null, reload);
  const failed = run.error ?? first.error ?? all.error;
  if (failed) return <ErrorPage error={failed} onRetry={reload} />;
  if (!run.data || !steps) return <Loading run={run.data} />;
  if (steps.length === 0) {
    return (
      <EmptyState isPage title="This run has no steps">
        The recording holds none, or they have not arrived yet.
      </EmptyState>
    );
  }
  return <Loaded key={run.data.id} run={run.data} steps={steps} partial={isLong && !all.data} />;
}

function Loaded({ run, steps, partial }: { run: RunDetail; steps: StepSummary[]; partial: boolean }): ReactElement {
  const search = route.useSearch();
  const navigate = useNavigate();
  const phone = useMediaQuery("(max-width: 900px)", false, { getInitialValueInEffect: false });
  const [region, setRegion] = useState<RegionName>(search.fork ? "fork" : search.step ? "step" : "steps");
  const from = search.fork ?? null;
  const fork = useFork(run.id, from);
  const selected = search.step ?? from ?? steps[0]?.sequence_no ?? null;
  const step = useSelected(run.id, steps, selected, partial);

  const set = useCallback(
    (change: { [Name in keyof RunSearch]?: RunSearch[Name] | undefined }, replace = true) =>
      void navigate({
        to: "/runs/$run",
        params: { run: run.id },
        search: (now: RunSearch) => clean({ ...now, ...change }),
        replace,
      }),
    [navigate, run.id],
  );
  const select = useCallback(
    (sequenceNo: number) => {
      set({ step: sequenceNo });
      setRegion((now) => (now === "steps" ? "step" : now));
    },
    [set],
  );
  const openFork = useCallback(() => {
    if (selected === null) return;
    set({ fork: selected, step: selected }, false);
    setRegion("fork");
  }, [selected, set]);
  const filled = useCallback(() => set({ from_session: undefined }), [set]);
  const copied = useForkOf(search.from_session ?? null, fork.change, filled);
  const setView = useCallback((view: RunSearch["view"]) => set({ view }), [set]);
  const closeFork = () => {
    set({ fork: undefined, from_session: undefined }, false);
    setRegion("step");
  };
  useShortcuts("Run", [
    { keys: "f", does: "Fork from the selected step", run: openFork },
    ...(from === null ? [] : [{ keys: "Escape", does: "Leave the fork", run: closeFork }]),
  ]);

  return (
    <div className={classes.page}>
      <title>{`${run.name} · Forkpoint`}</title>
      <Header run={run} />
      <Places run={run} phone={phone} onSelect={select} />
      <Regions
        phone={phone}
        region={region}
        onRegion={setRegion}
        steps={
          <Steps
            run={run.id}
            steps={steps}
            partial={partial}
            selected={selected}
            fork={from ?? run.fork_sequence_no}
            planned={from === null ? null : fork.planned}
            view={search.view ?? "tree"}
            onView={setView}
            onSelect={select}
          />
        }
        step={
          step ? (
            <Step
              step={step}
              planned={fork.planned?.get(step.sequence_no) ?? null}
              onSelect={select}
              onFork={openFork}
            />
          ) : (
            <EmptyState title={partial ? "Loading…" : `There is no step ${selected ?? ""}`}>
              {partial ? "The step is on its way." : "Select one in the list."}
            </EmptyState>
          )
        }
        fork={
          from === null ? null : (
            <ForkPanel
              run={run.id}
              fork={fork}
              from={from}
              copied={copied}
              step={step}
              onMoveHere={openFork}
              onSelect={select}
              onClose={closeFork}
            />
          )
        }
        onOpenFork={openFork}
      />
    </div>
  );
}

/** The selected step, also where an address names one of a long run that is not in the list yet. */
function useSelected(
  run: string,
  steps: readonly StepSummary[],
  selected: number | null,
  partial: boolean,
): StepSummary | null {
  const isSelected = (step: StepSummary) => step.sequence_no === selected;
  const listed = steps.find(isSelected);
  const isAwaited = partial && selected !== null && !listed;
  const linked = useQuery({ ...stepsFromQuery(run, selected ?? 1, 1), enabled: isAwaited });
  return listed ?? (isAwaited ? linked.data?.steps.find(isSelected) : null) ?? null;
}

/** Without what is at its default, so that addresses stay short. */
function clean(search: { [Name in keyof RunSearch]?: RunSearch[Name] | undefined }): RunSearch {
  return {
    ...(search.step !== undefined && { step: search.step }),
    ...(search.fork !== undefined && { fork: search.fork }),
    ...(search.view === "graph" && { view: search.view }),
    ...(search.from_session !== undefined && { from_session: search.from_session }),
  };
}
