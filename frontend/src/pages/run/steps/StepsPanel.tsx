import { ActionIcon, Loader, SegmentedControl, TextInput, Tooltip } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { IconArrowsMaximize, IconArrowsMinimize, IconBug, IconGitFork, IconSearch } from "@tabler/icons-react";
import { lazy, Suspense, useDeferredValue, useMemo, useRef, useState, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import { stepsWithQuery } from "@/api/runs/runs";
import type { StepSummary } from "@/api/schema";
import { count } from "@/ui/format/numbers";
import { Kbd } from "@/ui/keyboard/Kbd";
import { isFailed } from "@/domain/steps/labels";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import type { StepPlans } from "../stepPlans";
import type { LeftView } from "../search";
import { StepFilterMenu } from "./StepFilterMenu";
import classes from "./Steps.module.css";
import { StepTree } from "./StepTree";
import {
  foldAll,
  indexSteps,
  isFilterOn,
  nextFailed,
  noFilter,
  toggleFold,
  unfoldTo,
  visibleRows,
  type StepFilter,
} from "./tree";

const StepGraph = lazy(() => loadPart(() => import("./StepGraph")));

interface Props {
  run: string;
  steps: StepSummary[];
  /** More steps are still loading. */
  partial: boolean;
  selectedNumber: number | null;
  fork: number | null;
  /** The planned actions of the fork. */
  plans: StepPlans | null;
  view: LeftView;
  onView: (view: LeftView) => void;
  onSelect: (sequenceNo: number) => void;
}

/** The left region: all steps as a tree or graph, with search and filters. */
export function StepsPanel(props: Props): ReactElement {
  const { steps, selectedNumber, fork, onSelect, view } = props;
  const [foldedSteps, setFoldedSteps] = useState<ReadonlySet<number>>(new Set());
  const [filter, setFilter] = useState<StepFilter>(noFilter);
  const search = useRef<HTMLInputElement>(null);
  const deferredFilter = useDeferredValue(filter);
  const index = useMemo(() => indexSteps(steps), [steps]);
  const [words] = useDebouncedValue(deferredFilter.text.trim(), 250);
  const textMatches = useQuery({ ...stepsWithQuery(props.run, words), enabled: words.length > 1 });
  const matchingSteps = words.length > 1 && words === deferredFilter.text.trim() ? textMatches.data : undefined;
  const rows = useMemo(
    () => visibleRows(index, foldedSteps, matchingSteps ? { ...deferredFilter, matchingSteps } : deferredFilter),
    [index, foldedSteps, deferredFilter, matchingSteps],
  );
  const errors = useMemo(() => steps.filter((step) => isFailed(step.status)).length, [steps]);

  const goToStep = (sequenceNo: number | null | undefined) => {
    if (sequenceNo == null) return;
    setFoldedSteps((current) => unfoldTo(index, current, sequenceNo));
    onSelect(sequenceNo);
  };
  const move = (offset: number) => {
    const index = rows.findIndex((row) => row.step.sequence_no === selectedNumber);
    goToStep(rows[index < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, index + offset))]?.step.sequence_no);
  };
  const fold = (open: boolean) => {
    const node = selectedNumber === null ? undefined : index.bySequence.get(selectedNumber);
    if (!node) return;
    const isOpen = node.children.length > 0 && !foldedSteps.has(node.step.sequence_no);
    if (node.children.length > 0 && open !== isOpen) setFoldedSteps(toggleFold(foldedSteps, node.step.sequence_no));
    else if (open) move(1);
    else goToStep(node.step.parent);
  };
  useShortcuts("Steps", [
    { keys: "j", action: "Next step", run: () => move(1) },
    { keys: "k", action: "Previous step", run: () => move(-1) },
    { keys: "ArrowRight", action: "Unfold", run: () => fold(true) },
    { keys: "ArrowLeft", action: "Fold, or go to the parent", run: () => fold(false) },
    { keys: "e", action: "Next error", run: () => goToStep(nextFailed(steps, selectedNumber ?? 0)) },
    { keys: "E", action: "Previous error", run: () => goToStep(nextFailed(steps, selectedNumber ?? 0, -1)) },
    { keys: "g", action: "Go to the fork", run: () => goToStep(fork) },
    { keys: "/", action: "Filter the steps", run: () => search.current?.select() },
  ]);

  return (
    <section className={classes.panel} aria-label="Steps">
      <div className={classes.head}>
        <h2>Steps</h2>
        <span className="muted num">
          {isFilterOn(deferredFilter) ? `${count(rows.length)} of ${count(steps.length)}` : count(steps.length)}
        </span>
        {textMatches.isFetching && <Loader size={11} role="img" aria-label="Searching all text of the steps" />}
        {props.partial && <Loader size={11} role="img" aria-label="Loading the other steps" />}
        <span className="grow" />
        <Tool
          label={errors > 0 ? `Next of ${count(errors)} errors ( e )` : "No step failed"}
          isDisabled={errors === 0}
          onClick={() => goToStep(nextFailed(steps, selectedNumber ?? 0))}
        >
          <IconBug size={16} />
        </Tool>
        {fork !== null && (
          <Tool label="Go to the fork ( g )" onClick={() => goToStep(fork)}>
            <IconGitFork size={16} />
          </Tool>
        )}
        <Tool
          label={foldedSteps.size > 0 ? "Unfold all" : "Fold all"}
          onClick={() => setFoldedSteps(foldedSteps.size > 0 ? new Set() : foldAll(index))}
        >
          {foldedSteps.size > 0 ? <IconArrowsMaximize size={15} /> : <IconArrowsMinimize size={15} />}
        </Tool>
        <SegmentedControl
          value={view}
          onChange={(value) => props.onView(value)}
          data={[
            { value: "tree" as const, label: "Tree" },
            { value: "graph" as const, label: "Graph" },
          ]}
          aria-label="View"
        />
      </div>
      <div className={classes.filter}>
        <TextInput
          ref={search}
          className="grow"
          value={filter.text}
          onChange={(event) => setFilter({ ...filter, text: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
            if (event.key === "Enter") move(0);
          }}
          placeholder="Filter by name, model, any text"
          aria-label="Filter the steps"
          leftSection={<IconSearch size={13} />}
          rightSection={<Kbd>/</Kbd>}
        />
        <StepFilterMenu steps={steps} filter={filter} onChange={setFilter} />
      </div>
      {view === "tree" ? (
        <StepTree
          rows={rows}
          total={steps.length}
          spanMs={index.spanMs}
          foldedSteps={foldedSteps}
          flat={isFilterOn(deferredFilter)}
          selectedNumber={selectedNumber}
          fork={fork}
          plans={props.plans}
          onSelect={onSelect}
          onMove={move}
          onToggle={(sequenceNo) => setFoldedSteps(toggleFold(foldedSteps, sequenceNo))}
        />
      ) : (
        <Suspense fallback={<p className={classes.note}>Loading the graph…</p>}>
          <StepGraph
            run={props.run}
            rows={rows}
            selectedNumber={selectedNumber}
            fork={fork}
            plans={props.plans}
            onSelect={onSelect}
          />
        </Suspense>
      )}
      <div className={`${classes.foot} muted`} aria-hidden>
        <Kbd>j</Kbd>
        <Kbd>k</Kbd> move <Kbd>e</Kbd> next error <Kbd>f</Kbd> fork
      </div>
    </section>
  );
}

function Tool(props: {
  label: string;
  isDisabled?: boolean;
  onClick: () => void;
  children: ReactElement;
}): ReactElement {
  return (
    <Tooltip label={props.label}>
      <ActionIcon
        size={26}
        aria-label={props.label.replace(/ \( . \)$/, "")}
        data-disabled={props.isDisabled || undefined}
        aria-disabled={props.isDisabled}
        onClick={() => !props.isDisabled && props.onClick()}
      >
        {props.children}
      </ActionIcon>
    </Tooltip>
  );
}
