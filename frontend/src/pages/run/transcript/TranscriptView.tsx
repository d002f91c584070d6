import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useEffectEvent, useMemo, useRef, useState, type ReactElement } from "react";
import { loadMarkdown } from "@/features/markdown/loadMarkdown";
import { RedactionReasons } from "@/ui/MarkedText";
import { paperRows, usePaper } from "@/ui/paper/paper";
import paper from "@/ui/paper/Paper.module.css";
import { PaperGap } from "@/ui/paper/PaperGap";
import { failureWords } from "@/ui/failure/failure";
import { useSelectedNumber } from "../selection";
import { actionOf, type StepPlans } from "../stepPlans";
import type { TranscriptRow as Row } from "./rows";
import classes from "./Transcript.module.css";
import { TranscriptRow } from "./TranscriptRow";
import { useTranscript } from "./useTranscript";

// With the page: texts would jump if it came after them.
loadMarkdown().catch(() => undefined);

interface Props {
  run: string;
  rows: readonly Row[];
  /** All loaded steps of the run. */
  total: number;
  fork: number | null;
  plans: StepPlans | null;
  onSelect: (sequenceNo: number) => void;
}

/** The steps of a run as a conversation. Rows and texts exist only where they are visible. */
export function TranscriptView(props: Props): ReactElement {
  const { rows, plans, fork } = props;
  const selectedNumber = useSelectedNumber();
  const scroller = useRef<HTMLDivElement>(null);
  const keyOf = useCallback((index: number) => rows[index]?.key ?? index, [rows]);
  const sizeOf = useCallback((index: number) => estimate(rows[index]), [rows]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: sizeOf,
    getItemKey: keyOf,
    overscan: 6,
  });
  // Until the reader scrolls, the selected step stays in view while the texts above it arrive.
  const isHeld = useRef(false);
  const release = () => {
    isHeld.current = false;
  };
  const scrollToSelected = useEffectEvent(() => {
    const index = rows.findIndex(({ step }) => step.sequence_no === selectedNumber);
    if (index >= 0) virtual.scrollToIndex(index, { align: "auto" });
    return index >= 0;
  });
  const lastNumber = useRef(selectedNumber);
  const reveal = useEffectEvent(() => {
    isHeld.current = scrollToSelected();
    // In a low window, the page around the list scrolls, too, but it opens on its head.
    if (isHeld.current && lastNumber.current !== selectedNumber) scroller.current?.scrollIntoView({ block: "nearest" });
    lastNumber.current = selectedNumber;
  });
  // Also when the rest of a long run arrives, which may contain the step of the address, and when a panel above the list
  // takes a part of its height.
  useEffect(() => reveal(), [selectedNumber, props.total, virtual.scrollRect?.height]);
  const height = virtual.getTotalSize();
  useEffect(() => {
    if (isHeld.current) scrollToSelected();
  }, [height]);

  const isPaper = usePaper();
  const items = paperRows(isPaper, rows.length, virtual.getVirtualItems());
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? -1;
  const visibleNumbers = useMemo(
    () => rows.slice(first, last + 1).map(({ step }) => step.sequence_no),
    [rows, first, last],
  );
  const { turns, redactions, error } = useTranscript(props.run, visibleNumbers, isPaper);
  // The first rows come with their texts, which would push them down later.
  const [hasTexts, setTexts] = useState(false);
  if (!hasTexts && (turns.size > 0 || error)) setTexts(true);
  return (
    <RedactionReasons value={redactions}>
      {error && <p className={classes.note}>The texts could not be loaded. {failureWords(error)}</p>}
      <div
        ref={scroller}
        className={`${classes.scroll} ${paper.scroller}`}
        role="feed"
        aria-label="Transcript"
        tabIndex={0}
        onWheel={release}
        onTouchMove={release}
        onPointerDown={release}
        onKeyDown={release}
      >
        <div className={`${classes.items} ${paper.rows}`} style={{ height }} role="presentation">
          {!hasTexts && <p className={`${classes.note} ${classes.waiting}`}>The texts are loading…</p>}
          {(hasTexts ? items : []).map((item) => {
            const row = rows[item.index];
            if (!row) return null;
            const number = row.step.sequence_no;
            return (
              <div
                key={row.key}
                ref={virtual.measureElement}
                data-index={item.index}
                className={`${classes.item} ${paper.row}`}
                style={{ transform: `translateY(${item.start}px)` }}
                role="presentation"
              >
                <TranscriptRow
                  run={props.run}
                  row={row}
                  turns={turns.get(number)}
                  position={item.index + 1}
                  total={rows.length}
                  isSelected={number === selectedNumber}
                  forkHere={number === fork}
                  action={actionOf(number, plans, fork)}
                  plan={plans?.get(number) ?? null}
                  onSelect={props.onSelect}
                />
              </div>
            );
          })}
        </div>
        <PaperGap rows={rows.length} />
      </div>
    </RedactionReasons>
  );
}

/** The height of a row before it is measured. */
function estimate(row: Row | undefined): number {
  if (!row || row.part === "agent" || row.part === "failure") return 36;
  return row.step.type === "model" ? 110 : 68;
}
