import { VisuallyHidden } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactElement,
  type RefObject,
} from "react";
import { baseName, candidateName } from "@/domain/diffs/candidateName";
import { pluralize } from "@/ui/format/numbers";
import { withText } from "@/ui/format/textSize";
import { connectors, PAIRING_METHOD, pairKey, rowKey, type PairRow } from "./pairs";
import { PairCell } from "./PairCell";
import { useReport } from "../reportContext";
import { RELATION } from "../wording";
import classes from "./AlignedRows.module.css";

const ROW = withText(34);
/** The index of the sections covers this much of the page. */
const INDEX_HEIGHT = 44;

/** The page scrolls, not the list. */
function scroller(): HTMLElement | null {
  return document.getElementById("main");
}

/** The distance of the list from the top of the page, which changes as the parts above it unfold. */
function useListOffset(list: RefObject<HTMLElement | null>): number {
  const [offset, setOffset] = useState(0);
  useEffect(() => {
    const page = scroller();
    if (!page || !list.current) return;
    const measure = () => {
      if (list.current)
        setOffset(list.current.getBoundingClientRect().top - page.getBoundingClientRect().top + page.scrollTop);
    };
    const observer = new ResizeObserver(measure);
    for (const child of page.children) observer.observe(child);
    measure();
    return () => observer.disconnect();
  }, [list]);
  return offset;
}

interface Props {
  rows: readonly PairRow[];
  selectedPair: string | null;
  onSelect: (pair: string) => void;
  onOpen: (row: PairRow) => void;
}

/** The aligned rows as a virtualized list. Curves connect moved steps. */
export function AlignedRows({ rows, selectedPair, onSelect, onOpen }: Props): ReactElement {
  const { report } = useReport();
  const list = useRef<HTMLDivElement>(null);
  const margin = useListOffset(list);
  const id = useId();
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: scroller,
    scrollMargin: margin,
    scrollPaddingStart: INDEX_HEIGHT,
    estimateSize: () => ROW,
    overscan: 12,
  });
  const active = rows.findIndex((row) => row.kind !== "fold" && pairKey(row.pair) === selectedPair);
  useEffect(() => {
    if (active >= 0) virtual.scrollToIndex(active, { align: "auto" });
  }, [active, virtual]);

  const openRow = (row: PairRow | undefined) => {
    if (!row) return;
    if (row.kind === "fold") onOpen(row);
    else onSelect(pairKey(row.pair));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = nextPairRow(rows, active, step);
    if (next) onSelect(pairKey(next));
  };
  return (
    <div className={classes.frame}>
      <div className={classes.names}>
        <span className="ellipsis">Base · {baseName(report)}</span>
        <span />
        <span className="ellipsis">Candidate · {candidateName(report)}</span>
      </div>
      <div
        ref={list}
        className={classes.list}
        role="listbox"
        tabIndex={0}
        aria-label="Pairs of steps"
        aria-activedescendant={active >= 0 ? `${id}${active}` : undefined}
        onKeyDown={onKeyDown}
      >
        <div style={{ height: virtual.getTotalSize(), position: "relative" }} role="presentation">
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            return row ? (
              <div
                key={rowKey(row)}
                id={`${id}${index}`}
                role="option"
                aria-selected={index === active || (row.kind !== "fold" && pairKey(row.pair) === selectedPair)}
                className={classes.row}
                data-relation={row.kind === "fold" ? "fold" : row.pair.relation}
                style={{ transform: `translateY(${start - margin}px)` }}
                onClick={() => openRow(row)}
              >
                <RowContent row={row} />
              </div>
            ) : null;
          })}
          <Connectors rows={rows} selectedPair={selectedPair} />
        </div>
      </div>
    </div>
  );
}

function nextPairRow(rows: readonly PairRow[], start: number, step: number) {
  for (let index = start + step; index >= 0 && index < rows.length; index += step) {
    const row = rows[index];
    if (row && row.kind !== "fold") return row.pair;
  }
  return null;
}

function RowContent({ row }: { row: PairRow }): ReactElement {
  if (row.kind === "fold") return <span className={classes.fold}>{pluralize(row.count, "unchanged pair")}</span>;
  const { sign } = RELATION[row.pair.relation];
  return (
    <>
      <PairCell step={row.base} side="base" relation={row.pair.relation} />
      <span className={classes.mid} title={tooltip(row)}>
        {row.kind === "pair" && (
          <span className={classes.sign} aria-hidden>
            {sign}
          </span>
        )}
        <VisuallyHidden>{tooltip(row)}</VisuallyHidden>
      </span>
      <PairCell step={row.candidate} side="candidate" relation={row.pair.relation} />
    </>
  );
}

function tooltip(row: Exclude<PairRow, { kind: "fold" }>): string {
  const { pair } = row;
  const description = [RELATION[pair.relation].words, ...pair.changes].join(", ");
  return pair.base && pair.candidate
    ? `${description}; paired by ${PAIRING_METHOD[pair.found_by]}, confidence ${pair.confidence.toFixed(2)}`
    : description;
}

/** Curves between the old and the new place of moved steps. */
function Connectors({
  rows,
  selectedPair,
}: {
  rows: readonly PairRow[];
  selectedPair: string | null;
}): ReactElement | null {
  const lines = useMemo(() => connectors(rows), [rows]);
  if (lines.length === 0) return null;
  return (
    <svg
      className={classes.connectors}
      width="100%"
      height={rows.length * ROW}
      viewBox={`0 0 100 ${rows.length * ROW}`}
      preserveAspectRatio="none"
      aria-hidden
    >
      {lines.map(({ key, startRow, endRow }) => {
        const [y1, y2] = [startRow * ROW + ROW / 2, endRow * ROW + ROW / 2];
        return (
          <path
            key={key}
            d={`M0 ${y1} C60 ${y1} 40 ${y2} 100 ${y2}`}
            data-selected={key === selectedPair}
            vectorEffect="non-scaling-stroke"
          />
        );
      })}
    </svg>
  );
}
