import { Tabs, TextInput } from "@mantine/core";
import { useDebouncedCallback, useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { IconSearch } from "@tabler/icons-react";
import { lazy, Suspense, useCallback, useDeferredValue, useMemo, useRef, useState, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import { stepsWithQuery } from "@/api/runs/runs";
import type { StepSummary } from "@/api/schema";
import { Kbd } from "@/ui/keyboard/Kbd";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { useVisit } from "@/features/share/visit";
import type { SelectedRef } from "../selection";
import type { StepPlans } from "../stepPlans";
import { flatRows, numbersOf, stepAtOffset, transcriptRows } from "../transcript/rows";
import { TranscriptView } from "../transcript/TranscriptView";
import type { StepPanelState } from "../useStepPanel";
import { isRunView, type RunView } from "../views";
import { LatestStep } from "./LatestStep";
import { StepFilterMenu } from "./StepFilterMenu";
import classes from "./Steps.module.css";
import { StepTree } from "./StepTree";
import {
  foldAll,
  indexSteps,
  isFilterOn,
  failedSteps,
  nextFailed,
  noFilter,
  toggleFold,
  unfoldTo,
  visibleRows,
  type StepFilter,
  emptyWords,
} from "./tree";
import { ViewHead } from "./ViewHead";

const TimelineView = lazy(() => loadPart(() => import("../timeline/TimelineView")));
const StepGraph = lazy(() => loadPart(() => import("./StepGraph")));

interface Props {
  run: string;
  steps: StepSummary[];
  /** More steps are still loading. */
  partial: boolean;
  isRecording?: boolean;
  selectedRef: SelectedRef;
  fork: number | null;
  /** The planned actions of the fork. */
  plans: StepPlans | null;
  view: RunView;
  stepPanel: StepPanelState;
  /** The filter at first, and what stores its changes. */
  filter?: StepFilter;
  onFilter?: (filter: StepFilter) => void;
  onView: (view: RunView) => void;
  onSelect: (sequenceNo: number) => void;
  /** Shows this region, where a narrow window shows one at a time. */
  onShow: () => void;
}

/** The left region: the steps as a transcript, tree, timeline or graph, with search and filters. */
export function StepsPanel(props: Props): ReactElement {
  const { steps, selectedRef, fork, onSelect, view } = props;
  const [foldedSteps, setFoldedSteps] = useState<ReadonlySet<number>>(new Set());
  const [filter, setFilter] = useState<StepFilter>(props.filter ?? noFilter);
  const [isFilterOpen, setFilterOpen] = useState(false);
  const storeFilter = useDebouncedCallback((next: StepFilter) => props.onFilter?.(next), 300);
  const changeFilter = (next: StepFilter) => {
    setFilter(next);
    storeFilter(next);
  };
  const search = useRef<HTMLInputElement>(null);
  const deferredFilter = useDeferredValue(filter);
  const isFiltered = isFilterOn(deferredFilter);
  const index = useMemo(() => indexSteps(steps), [steps]);
  const visit = useVisit();
  const [words] = useDebouncedValue(deferredFilter.text.trim(), 250);
  const textMatches = useQuery({ ...stepsWithQuery(props.run, words), enabled: words.length > 1 });
  const matchingSteps = words.length > 1 && words === deferredFilter.text.trim() ? textMatches.data : undefined;
  const rows = useMemo(
    () => visibleRows(index, foldedSteps, matchingSteps ? { ...deferredFilter, matchingSteps } : deferredFilter),
    [index, foldedSteps, deferredFilter, matchingSteps],
  );
  const turnRows = useMemo(
    () => (view !== "transcript" ? [] : isFiltered ? flatRows(rows) : transcriptRows(index)),
    [view, isFiltered, rows, index],
  );
  const turnNumbers = useMemo(() => numbersOf(turnRows), [turnRows]);
  const isEmpty = (view === "transcript" ? turnRows : rows).length === 0;
  const isSearching = words !== deferredFilter.text.trim() || textMatches.isFetching || props.partial;
  const errors = useMemo(() => failedSteps(steps).length, [steps]);

  const goToStep = (sequenceNo: number | null | undefined) => {
    if (sequenceNo == null) return;
    setFoldedSteps((current) => unfoldTo(index, current, sequenceNo));
    onSelect(sequenceNo);
  };
  const move = (offset: number) => {
    if (view === "transcript") {
      goToStep(stepAtOffset(turnNumbers, selectedRef.current, offset));
      return;
    }
    const current = rows.findIndex((row) => row.step.sequence_no === selectedRef.current);
    goToStep(rows[current < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, current + offset))]?.step.sequence_no);
  };
  const fold = (open: boolean) => {
    const node = selectedRef.current === null ? undefined : index.bySequence.get(selectedRef.current);
    if (!node) return;
    const isOpen = node.children.length > 0 && !foldedSteps.has(node.step.sequence_no);
    if (node.children.length > 0 && open !== isOpen) setFoldedSteps(toggleFold(foldedSteps, node.step.sequence_no));
    else if (open) move(1);
    else goToStep(node.step.parent);
  };
  const toggle = useCallback((sequenceNo: number) => setFoldedSteps((current) => toggleFold(current, sequenceNo)), []);
  const nextError = (direction: 1 | -1 = 1) => goToStep(nextFailed(steps, selectedRef.current ?? 0, direction));
  const openFilter = () => {
    props.onShow();
    setFilterOpen(true);
    // The field exists after the next rendering.
    window.requestAnimationFrame(() => search.current?.select());
  };
  useShortcuts("Steps", [
    { keys: "j", action: "Next step", run: () => move(1) },
    { keys: "k", action: "Previous step", run: () => move(-1) },
    ...(view === "tree"
      ? [
          { keys: "ArrowRight", action: "Unfold", run: () => fold(true) },
          { keys: "ArrowLeft", action: "Fold, or go to the parent", run: () => fold(false) },
        ]
      : []),
    { keys: "e", action: "Next error", run: () => nextError() },
    { keys: "E", action: "Previous error", run: () => nextError(-1) },
    { keys: "g", action: "Go to the fork", run: () => goToStep(fork) },
    { keys: "/", action: "Filter the steps", run: openFilter },
  ]);

  return (
    <Tabs
      value={view}
      onChange={(value) => isRunView(value) && props.onView(value)}
      className={classes.panel}
      keepMounted={false}
      role="region"
      aria-label="Steps"
    >
      <ViewHead
        view={view}
        counts={isFiltered ? [rows.length, steps.length] : []}
        progress={
          textMatches.isFetching ? "Searching all text of the steps" : props.partial ? "Loading the other steps" : null
        }
        errors={errors}
        hasFork={fork !== null}
        hasFolds={foldedSteps.size > 0}
        isFiltering={isFilterOpen || filter.text !== ""}
        filterMenu={<StepFilterMenu steps={steps} filter={filter} onChange={changeFilter} />}
        stepPanel={props.stepPanel}
        onNextError={nextError}
        onFork={() => goToStep(fork)}
        onFold={() => setFoldedSteps(foldedSteps.size > 0 ? new Set() : foldAll(index))}
        onFilter={() => (isFilterOpen && filter.text === "" ? setFilterOpen(false) : openFilter())}
      />
      {(isFilterOpen || filter.text !== "") && (
        <div className={classes.filter}>
          <TextInput
            ref={search}
            className="grow"
            value={filter.text}
            onChange={(event) => changeFilter({ ...filter, text: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key === "Escape") event.currentTarget.blur();
              if (event.key === "Enter") move(0);
            }}
            placeholder="Filter by name, model, any text"
            aria-label="Filter the steps"
            leftSection={<IconSearch size={13} />}
            rightSection={<Kbd>/</Kbd>}
          />
        </div>
      )}
      <Tabs.Panel value={view} className={classes.view}>
        {isEmpty && <p className={classes.note}>{emptyWords(isSearching, textMatches.error)}</p>}
        {!isEmpty && view === "transcript" && (
          <TranscriptView
            run={props.run}
            rows={turnRows}
            total={steps.length}
            fork={fork}
            plans={props.plans}
            onSelect={onSelect}
          />
        )}
        {!isEmpty && view === "tree" && (
          <StepTree
            rows={rows}
            total={steps.length}
            spanMs={index.spanMs}
            foldedSteps={foldedSteps}
            flat={isFiltered}
            fork={fork}
            plans={props.plans}
            onSelect={onSelect}
            onMove={move}
            onToggle={toggle}
          />
        )}
        {!isEmpty && view === "timeline" && (
          <Suspense fallback={<p className={classes.note}>Loading the timeline…</p>}>
            <TimelineView
              rows={rows}
              fork={fork}
              plans={props.plans}
              onSelect={onSelect}
              onMove={move}
              onTree={() => props.onView("tree")}
            />
          </Suspense>
        )}
        {!isEmpty && view === "graph" && (
          <Suspense fallback={<p className={classes.note}>Loading the graph…</p>}>
            <StepGraph run={props.run} rows={rows} fork={fork} plans={props.plans} onSelect={onSelect} />
          </Suspense>
        )}
        {props.isRecording && <LatestStep steps={steps} onSelect={goToStep} />}
      </Tabs.Panel>
      <div className={`${classes.foot} muted`} aria-hidden>
        <span>
          <Kbd>j</Kbd> <Kbd>k</Kbd> move
        </span>
        <span>
          <Kbd>e</Kbd> next error
        </span>
        {visit === null && <ActionKeys />}
        <span>
          <Kbd>?</Kbd> all keys
        </span>
        {props.plans && <span className={classes.caption}>Right column: expected label in the fork</span>}
      </div>
    </Tabs>
  );
}

/** The keys of actions that a shared page does not have. */
function ActionKeys(): ReactElement {
  return (
    <>
      <span>
        <Kbd>f</Kbd> fork
      </span>
      <span>
        <Kbd>c</Kbd> compare
      </span>
    </>
  );
}
