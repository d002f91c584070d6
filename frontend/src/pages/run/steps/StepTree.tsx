import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useEffectEvent, useMemo, useRef, type ReactElement } from "react";
import { paperRows, usePaper } from "@/ui/paper/paper";
import paper from "@/ui/paper/Paper.module.css";
import { PaperGap } from "@/ui/paper/PaperGap";
import { withText } from "@/ui/format/textSize";
import { useSelectedNumber } from "../selection";
import { actionOf, type StepPlans } from "../stepPlans";
import { Minimap } from "./Minimap";
import { moveByKey, scrollTo } from "./reveal";
import { StepRow } from "./StepRow";
import classes from "./Steps.module.css";
import type { Node } from "./tree";

interface Props {
  rows: Node[];
  /** All loaded steps of the run, visible or not. */
  total: number;
  spanMs: number;
  foldedSteps: ReadonlySet<number>;
  flat: boolean;
  fork: number | null;
  plans: StepPlans | null;
  onSelect: (sequenceNo: number) => void;
  onToggle: (sequenceNo: number) => void;
  /** Move by a number of rows, up or down. */
  onMove: (offset: number) => void;
}
/** The tree, rendered only where it is visible. */
export function StepTree(props: Props): ReactElement {
  const { rows } = props;
  const selectedNumber = useSelectedNumber();
  const scroller = useRef<HTMLDivElement>(null);
  const selectedPlace = useRef<HTMLDivElement>(null);
  const rowHeight = window.matchMedia("(pointer: coarse)").matches ? withText(40) : withText(28);
  // A new function would make the list measure all rows again at each key press.
  const keyOf = useCallback((index: number) => rows[index]?.step.sequence_no ?? index, [rows]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: keyOf,
    overscan: 8,
  });
  const selectedIndex = useMemo(
    () => rows.findIndex((row) => row.step.sequence_no === selectedNumber),
    [rows, selectedNumber],
  );
  const lastNumber = useRef(selectedNumber);
  const reveal = useEffectEvent(() => {
    const list = scroller.current;
    if (!list || selectedIndex < 0) return;
    const top = scrollTo(selectedIndex, rowHeight, { top: list.scrollTop, height: list.clientHeight });
    if (top !== null) list.scrollTop = top;
    // In a low window, the page around the list scrolls, too, but it opens on its head.
    if (lastNumber.current !== selectedNumber) selectedPlace.current?.scrollIntoView({ block: "nearest" });
    lastNumber.current = selectedNumber;
  });
  // Also when the rest of a long run arrives, which may contain the step of the address, and when a panel above the list
  // takes a part of its height.
  useEffect(() => reveal(), [selectedNumber, props.total, virtual.scrollRect?.height]);

  const isPaper = usePaper();
  const items = paperRows(isPaper, rows.length, virtual.getVirtualItems());
  return (
    <div className={classes.treeFrame}>
      <div
        ref={scroller}
        className={`${classes.tree} ${paper.scroller}`}
        role="tree"
        aria-label="Steps of the run"
        tabIndex={0}
        onKeyDown={(event) => moveByKey(event, props.onMove)}
        aria-activedescendant={selectedNumber === null ? undefined : `step-row-${selectedNumber}`}
      >
        <div className={`${classes.rows} ${paper.rows}`} style={{ height: virtual.getTotalSize() }} role="presentation">
          {selectedIndex >= 0 && (
            <div
              ref={selectedPlace}
              className={classes.place}
              style={{ top: selectedIndex * rowHeight, height: rowHeight }}
              role="presentation"
            />
          )}
          {items.map((item) => {
            const node = rows[item.index];
            if (!node) return null;
            const number = node.step.sequence_no;
            return (
              <StepRow
                key={number}
                node={node}
                top={item.start}
                depth={props.flat ? 0 : node.depth}
                spanMs={props.spanMs}
                isFolded={props.foldedSteps.has(number)}
                isSelected={number === selectedNumber}
                forkHere={number === props.fork}
                action={actionOf(number, props.plans, props.fork)}
                onSelect={props.onSelect}
                onToggle={props.onToggle}
              />
            );
          })}
        </div>
        <PaperGap rows={rows.length} />
      </div>
      <Minimap
        rows={rows}
        selectedNumber={selectedNumber}
        fork={props.fork}
        plans={props.plans}
        first={virtual.range?.startIndex ?? 0}
        last={virtual.range?.endIndex ?? rows.length - 1}
        onJump={(index) => virtual.scrollToIndex(index, { align: "center" })}
      />
    </div>
  );
}
