import { Skeleton } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState, type CSSProperties, type ReactElement } from "react";
import type { RunSummary, SearchHit } from "@/api/schema";
import { paths } from "@/app/paths";
import type { RunActions } from "@/features/retention/useRunActions";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { PAPER_ROWS, paperRows, usePaper } from "@/ui/paper/paper";
import paper from "@/ui/paper/Paper.module.css";
import { TEXT_SIZE, withText } from "@/ui/format/textSize";
import { runsOf, type ListRow } from "../families/listRows";
import { coverageOf, paperRest } from "../listing";
import { fittingColumns, gridTemplate, type OptionalColumn } from "./columnChoice";
import { NoteRow } from "./NoteRow";
import { RunCard } from "./RunCard";
import { RunRows, type RunRowContext } from "./rowContext";
import { RunRow } from "./RunRow";
import classes from "./RunsTable.module.css";
import { TableHead } from "./TableHead";

/** The pixels of a portrait page, which nothing measures before it is printed. */
const PAPER_WIDTH = 718;

interface Props {
  rows: readonly ListRow[];
  hits: ReadonlyMap<string, SearchHit>;
  pending: boolean;
  stale: boolean;
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
  columns: readonly OptionalColumn[];
  cards: boolean;
  selection: readonly RunSummary[];
  onToggle: (run: RunSummary) => void;
  onToggleAll: () => void;
  isNested: boolean;
  onToggleForks: (root: string) => void;
  onShowAllForks: (root: string) => void;
  actions: RunActions;
  hasMore: boolean;
  loadingMore: boolean;
  onMore: () => void;
}

/** The run list, rendered only where it is visible. `j` and `k` move the focus. */
export function RunsTable(props: Props): ReactElement {
  const { rows, selection, onToggle, onToggleAll, onToggleForks, onShowAllForks, isNested, actions, cards } = props;
  const { hasMore, loadingMore, onMore } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const { ref: sizeRef, width } = useElementSize();
  const scrollerRef = useMergedRef(scroller, sizeRef);
  const navigate = useNavigate();
  const [active, setActive] = useState(0);
  const isPaper = usePaper();
  const columnsWidth = isPaper ? PAPER_WIDTH : (width || window.innerWidth) / TEXT_SIZE;
  const columns = useMemo(() => fittingColumns(props.columns, columnsWidth), [props.columns, columnsWidth]);
  const context = useMemo<RunRowContext>(() => {
    const coverage = coverageOf(selection, runsOf(rows));
    return { selection, onToggle, onToggleAll, coverage, actions, onToggleForks, onShowAllForks, isNested };
  }, [rows, selection, onToggle, onToggleAll, actions, onToggleForks, onShowAllForks, isNested]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => withText(cards ? 128 : 52),
    getItemKey: (index) => (rows[index] ? keyOf(rows[index]) : index),
    overscan: 12,
  });
  const visibleRows = virtual.getVirtualItems();
  const last = visibleRows.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && !loadingMore && last >= rows.length - 25) onMore();
  }, [hasMore, loadingMore, last, rows.length, onMore]);

  const focusRow = (index: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, index));
    setActive(next);
    virtual.scrollToIndex(next);
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-index="${next}"] a`)?.focus());
  };
  const selectedIds = useMemo(() => new Set(selection.map(({ id }) => id)), [selection]);
  const activeRow = rows[active];
  const activeRun = activeRow?.kind === "run" ? activeRow.run : null;
  useShortcuts("Runs: the list", [
    { keys: "j", action: "Next run", run: () => focusRow(hasFocus(scroller.current) ? active + 1 : active) },
    { keys: "k", action: "Previous run", run: () => focusRow(active - 1) },
    { keys: "Enter", action: "Open the run", run: () => activeRun && void navigate(paths.run(activeRun.id)) },
    { keys: "x", action: "Select the run", run: () => activeRun && onToggle(activeRun) },
    {
      keys: "o",
      action: "Show or hide the forks",
      run: () => activeRow?.kind === "run" && activeRow.family && onToggleForks(activeRow.run.id),
    },
  ]);

  if (props.pending) return <TableSkeleton />;
  const body = (
    <div
      className={`${classes.body} ${paper.rows}`}
      style={{ height: virtual.getTotalSize() }}
      role={cards ? "list" : "rowgroup"}
    >
      {paperRows(isPaper, rows.length, visibleRows).map((item) => {
        const row = rows[item.index];
        if (!row) return null;
        const key = keyOf(row);
        const slot = {
          index: item.index,
          // The heights on paper are not those on the screen.
          ref: isPaper ? null : virtual.measureElement,
          style: { transform: `translateY(${item.start}px)` } satisfies CSSProperties,
          onFocus: () => setActive(item.index),
        };
        if (row.kind === "note") return <NoteRow key={key} {...slot} row={row} isCard={cards} />;
        const hit = props.hits.get(row.run.id);
        const rowProps = { ...slot, row, hit, isSelected: selectedIds.has(row.run.id) };
        return cards ? <RunCard key={key} {...rowProps} /> : <RunRow key={key} {...rowProps} columns={columns} />;
      })}
    </div>
  );
  return (
    <RunRows value={context}>
      <div className={`panel ${cards ? classes.cards : classes.table}`} aria-busy={props.stale}>
        <div
          ref={scrollerRef}
          className={`${classes.scroller} ${paper.scroller}`}
          style={{ "--columns": gridTemplate(columns) } as CSSProperties}
          {...(!cards && { role: "table", "aria-label": "Runs", "aria-rowcount": hasMore ? -1 : rows.length + 1 })}
          {...(cards && { tabIndex: 0, role: "region", "aria-label": "Runs" })}
        >
          {!cards && <TableHead columns={columns} sort={props.sort} onSort={props.onSort} />}
          {body}
          {isPaper && (hasMore || rows.length > PAPER_ROWS) && (
            <p className={`muted ${classes.rest}`}>{paperRest(rows.length, PAPER_ROWS)}</p>
          )}
        </div>
      </div>
    </RunRows>
  );
}

function keyOf(row: ListRow): string {
  return row.kind === "note" ? `note ${row.root}` : row.run.id;
}

function hasFocus(element: HTMLElement | null): boolean {
  return element?.contains(document.activeElement) ?? false;
}

function TableSkeleton(): ReactElement {
  return (
    <div className={`panel ${classes.loading}`} aria-busy aria-label="Loading runs">
      {Array.from({ length: 12 }, (_, index) => (
        <Skeleton key={index} height={14} width={`${90 - ((index * 17) % 40)}%`} />
      ))}
    </div>
  );
}
