import { ActionIcon, Button, Tooltip } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { IconMinus, IconPlus } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useEffectEvent, useMemo, useRef, type ReactElement } from "react";
import { EmptyState } from "@/ui/EmptyState";
import { pluralize } from "@/ui/format/numbers";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { paperRows, usePaper } from "@/ui/paper/paper";
import paper from "@/ui/paper/Paper.module.css";
import { PaperGap } from "@/ui/paper/PaperGap";
import { withText } from "@/ui/format/textSize";
import { useSelectedNumber } from "../selection";
import { actionOf, type StepPlans } from "../stepPlans";
import { moveByKey, scrollTo } from "../steps/reveal";
import type { Node } from "../steps/tree";
import { countWithoutTime, rowsInRange, timeOf, wholeTime, withoutIdleTime } from "./bars";
import { RangeMap } from "./RangeMap";
import { clamp, rangeLabel, spanOf, ticksOf, type TimeRange } from "./scale";
import classes from "./Timeline.module.css";
import { TimelineRow } from "./TimelineRow";
import { useRowAnchor } from "./useRowAnchor";
import { useZoom, type Zoom } from "./useZoom";
import { useZoomGestures } from "./useZoomGestures";

interface Props {
  rows: readonly Node[];
  fork: number | null;
  plans: StepPlans | null;
  onSelect: (sequenceNo: number) => void;
  /** Move by a number of rows, up or down. */
  onMove: (offset: number) => void;
  /** Show the view that needs no times. */
  onTree: () => void;
}

const ROW = withText(30);
const TOUCH_ROW = withText(40);
/** Pixels between ticks, and of a label. */
const TICK = withText(96);
const LABEL = withText(48);
const STEP = 0.6;

/** All steps on one time scale. Steps without a recorded time are listed, but have no place on it. */
export default function TimelineView(props: Props): ReactElement {
  const rows = useMemo(() => withoutIdleTime(props.rows), [props.rows]);
  const whole = useMemo(() => wholeTime(rows), [rows]);
  if (whole === null) {
    return (
      <EmptyState
        title="No step of this recording has a time"
        action={
          <Button variant="default" onClick={props.onTree}>
            Show the tree
          </Button>
        }
      >
        The tree shows the steps in their order.
      </EmptyState>
    );
  }
  return <Scale {...props} rows={rows} whole={whole} />;
}

function Scale({ whole, ...props }: Props & { whole: TimeRange }): ReactElement {
  const { rows } = props;
  const selectedNumber = useSelectedNumber();
  const view = useZoom(whole);
  const { ref: laneSize, width } = useElementSize<HTMLDivElement>();
  const lane = useRef<HTMLDivElement>(null);
  const area = useRef<HTMLDivElement>(null);
  const gestures = useZoomGestures(area, lane, view);
  const missing = useMemo(() => countWithoutTime(rows), [rows]);
  useZoomKeys(view, () => {
    const step = rows.find((row) => row.step.sequence_no === selectedNumber)?.step;
    const time = step ? timeOf(step) : null;
    if (!time) return;
    const margin = Math.max(spanOf(time) * 0.25, spanOf(whole) / 1_000);
    view.show(clamp({ start: time.start - margin, end: time.end + margin }, whole));
  });
  return (
    <div className={classes.frame}>
      <Toolbar view={view} missing={missing} />
      <RangeMap rows={rows} fork={props.fork} plans={props.plans} view={view} />
      <div className={classes.field} ref={area} {...gestures.handlers}>
        <div className={classes.axis} aria-hidden>
          <div ref={useMergedRef(laneSize, lane)} className={classes.ticks}>
            {ticksOf(view.range, Math.max(1, Math.floor(width / TICK))).map(({ time, label }) => (
              <span key={time} style={{ left: `${((time - view.range.start) / spanOf(view.range)) * 100}%` }}>
                {width * (1 - (time - view.range.start) / spanOf(view.range)) > LABEL && label}
              </span>
            ))}
          </div>
        </div>
        <Lanes {...props} view={view} />
        {gestures.selection && (
          <div className={classes.overlay} aria-hidden>
            <span>
              <i
                className={classes.selection}
                style={{ left: `${gestures.selection.left}%`, width: `${gestures.selection.width}%` }}
              />
            </span>
          </div>
        )}
      </div>
    </div>
  );
}

function useZoomKeys(view: Zoom, showSelected: () => void): void {
  useShortcuts("Timeline", [
    { keys: "+", action: "Zoom in", run: () => view.zoomBy(STEP) },
    { keys: "-", action: "Zoom out", run: () => view.zoomBy(1 / STEP) },
    { keys: "0", action: "Show the whole run", run: () => view.show(null) },
    { keys: "z", action: "Zoom to the selected step", run: showSelected },
    { keys: "ArrowLeft", action: "Earlier", run: () => view.panBy(-0.2) },
    { keys: "ArrowRight", action: "Later", run: () => view.panBy(0.2) },
  ]);
}

function Toolbar({ view, missing }: { view: Zoom; missing: number }): ReactElement {
  return (
    <div className={classes.toolbar}>
      <Button
        size="xs"
        aria-pressed={view.isWhole}
        variant={view.isWhole ? "light" : "default"}
        onClick={() => view.show(null)}
      >
        Whole run
      </Button>
      <output className={`num ${classes.range}`} aria-label="Visible range">
        {rangeLabel(view.range)}
      </output>
      <Tooltip label="Zoom in ( + )">
        <ActionIcon aria-label="Zoom in" onClick={() => view.zoomBy(STEP)}>
          <IconPlus size={15} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Zoom out ( - )">
        <ActionIcon aria-label="Zoom out" aria-disabled={view.isWhole} onClick={() => view.zoomBy(1 / STEP)}>
          <IconMinus size={15} />
        </ActionIcon>
      </Tooltip>
      <span className={classes.hint}>Drag to select a range. Ctrl and scroll to zoom.</span>
      {missing > 0 && <span className={classes.hint}>{pluralize(missing, "step")} without a recorded time.</span>}
    </div>
  );
}

function Lanes(props: Props & { view: Zoom }): ReactElement {
  const { rows, plans, view } = props;
  const selectedNumber = useSelectedNumber();
  const scroller = useRef<HTMLDivElement>(null);
  const rowHeight = window.matchMedia("(pointer: coarse)").matches ? TOUCH_ROW : ROW;
  // Bars follow the pointer at once; a hundred thousand rows may follow a frame later.
  const listRange = useDeferredValue(view.range);
  const visibleRows = useMemo(() => rowsInRange(rows, listRange, view.whole), [rows, listRange, view.whole]);
  const virtual = useVirtualizer({
    count: visibleRows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  });
  const reveal = useEffectEvent(() => {
    const list = scroller.current;
    const index = visibleRows.findIndex((row) => row.step.sequence_no === selectedNumber);
    if (!list || index < 0) return;
    const top = scrollTo(index, rowHeight, { top: list.scrollTop, height: list.clientHeight });
    if (top !== null) list.scrollTop = top;
  });
  useEffect(() => reveal(), [selectedNumber, rows.length]);
  const isPaper = usePaper();
  const notePointer = useRowAnchor(scroller, visibleRows, rowHeight);
  return (
    <div
      ref={scroller}
      className={`${classes.lanes} ${paper.scroller}`}
      role="listbox"
      aria-label="Steps by time"
      tabIndex={0}
      onPointerMove={notePointer}
      onKeyDown={(event) => moveByKey(event, props.onMove)}
      aria-activedescendant={selectedNumber === null ? undefined : `timeline-row-${selectedNumber}`}
    >
      <div className={`${classes.rows} ${paper.rows}`} style={{ height: virtual.getTotalSize() }} role="presentation">
        {paperRows(isPaper, visibleRows.length, virtual.getVirtualItems()).map((item) => {
          const node = visibleRows[item.index];
          if (!node) return null;
          const number = node.step.sequence_no;
          return (
            <TimelineRow
              key={number}
              node={node}
              top={item.start}
              range={view.range}
              isSelected={number === selectedNumber}
              forkHere={number === props.fork}
              action={actionOf(number, plans, props.fork)}
              onSelect={props.onSelect}
            />
          );
        })}
      </div>
      <PaperGap rows={visibleRows.length} />
    </div>
  );
}
