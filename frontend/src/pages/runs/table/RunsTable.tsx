import { Skeleton } from "@mantine/core";
import { IconArrowDown, IconArrowsSort, IconArrowUp } from "@tabler/icons-react";
import { useTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState, type CSSProperties, type MouseEvent, type ReactElement } from "react";
import type { RunSummary, SearchHit } from "@/api/schema";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { columns, features, type RunRowContext, RunRows, template } from "./columns";
import type { RunActions } from "@/features/retention/useRunActions";
import { coverageOf, nextSort } from "../listing";
import { RunCard } from "./RunCard";
import { SearchHitLine } from "./SearchHitLine";
import classes from "./RunsTable.module.css";

interface Props {
  runs: RunSummary[];
  hits: ReadonlyMap<string, SearchHit>;
  pending: boolean;
  stale: boolean;
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
  cards: boolean;
  selection: readonly string[];
  onToggle: (id: string) => void;
  onToggleAll: () => void;
  actions: RunActions;
  hasMore: boolean;
  loadingMore: boolean;
  onMore: () => void;
}

/** The run list, rendered only where it is visible. `j` and `k` move the focus. */
export function RunsTable(props: Props): ReactElement {
  const { runs, selection, onToggle, onToggleAll, actions, cards, hasMore, loadingMore, onMore } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const [active, setActive] = useState(0);
  const context = useMemo<RunRowContext>(
    () => ({
      selection,
      onToggle,
      onToggleAll,
      coverage: coverageOf(selection, runs),
      actions,
      longest: runs.reduce((longest, run) => Math.max(longest, run.duration_ms ?? 0), 0),
    }),
    [runs, selection, onToggle, onToggleAll, actions],
  );
  const table = useTable({ features, columns, data: runs });
  const rows = table.getRowModel().rows;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (cards ? 104 : 38),
    getItemKey: (index) => runs[index]?.id ?? index,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && !loadingMore && last >= rows.length - 25) onMore();
  }, [hasMore, loadingMore, last, rows.length, onMore]);

  const focusRow = (index: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, index));
    setActive(next);
    virtual.scrollToIndex(next);
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-index="${next}"] a`)?.focus());
  };
  useShortcuts("Runs: the list", [
    { keys: "j", action: "Next run", run: () => focusRow(hasFocus(scroller.current) ? active + 1 : active) },
    { keys: "k", action: "Previous run", run: () => focusRow(active - 1) },
    { keys: "Enter", action: "Open the run", run: () => runs[active] && void navigate(paths.run(runs[active].id)) },
    { keys: "x", action: "Select the run", run: () => runs[active] && onToggle(runs[active].id) },
  ]);

  if (props.pending) return <TableSkeleton />;
  const body = (
    <div className={classes.body} style={{ height: virtual.getTotalSize() }} role={cards ? "list" : "rowgroup"}>
      {items.map((item) => {
        const run = runs[item.index];
        const row = rows[item.index];
        if (!run || !row) return null;
        const hit = props.hits.get(run.id);
        const rowProps = {
          "data-index": item.index,
          ref: virtual.measureElement,
          style: { transform: `translateY(${item.start}px)` } satisfies CSSProperties,
          onFocus: () => setActive(item.index),
        };
        if (cards) {
          return (
            <div key={item.key} role="listitem" className={classes.slot} {...rowProps}>
              <RunCard run={run} hit={hit} isSelected={selection.includes(run.id)} onToggle={onToggle} />
            </div>
          );
        }
        return (
          <div
            key={item.key}
            {...rowProps}
            role="row"
            aria-rowindex={item.index + 2}
            aria-selected={selection.includes(run.id)}
            className={`${classes.slot} ${classes.row}`}
            onClick={(event) => {
              if (!isOnRow(event)) return;
              if (!window.getSelection()?.toString()) void navigate(paths.run(run.id));
            }}
          >
            {row.getAllCells().map((cell) => (
              <div key={cell.id} role="cell" className={classes[cell.column.id]}>
                <table.FlexRender cell={cell} />
              </div>
            ))}
            {hit && (
              <div role="cell" className={classes.wideCell}>
                <SearchHitLine hit={hit} />
              </div>
            )}
          </div>
        );
      })}
    </div>
  );
  return (
    <RunRows value={context}>
      <div className={cards ? classes.cards : `panel ${classes.table}`} aria-busy={props.stale}>
        <div
          ref={scroller}
          className={classes.scroller}
          style={{ "--columns": template } as CSSProperties}
          {...(!cards && { role: "table", "aria-label": "Runs", "aria-rowcount": hasMore ? -1 : rows.length + 1 })}
          {...(cards && { tabIndex: 0, role: "region", "aria-label": "Runs" })}
        >
          {!cards && (
            <div role="rowgroup" className={classes.head}>
              {table.getHeaderGroups().map((group) => (
                <div key={group.id} role="row" aria-rowindex={1} className={classes.row}>
                  {group.headers.map((header) => (
                    <div
                      key={header.id}
                      role="columnheader"
                      className={classes[header.column.id]}
                      {...(header.column.id === "outcome" && { "aria-sort": ariaSort(props.sort) })}
                    >
                      {header.column.id === "outcome" ? (
                        <button
                          type="button"
                          className={classes.sort}
                          onClick={() => props.onSort(nextSort(props.sort))}
                        >
                          <table.FlexRender header={header} />
                          <SortMark sort={props.sort} />
                        </button>
                      ) : (
                        <table.FlexRender header={header} />
                      )}
                    </div>
                  ))}
                </div>
              ))}
            </div>
          )}
          {body}
        </div>
      </div>
    </RunRows>
  );
}

/** Whether a click is on the row itself, not on one of its controls or in the menu that one of them opened. */
function isOnRow({ target, currentTarget }: MouseEvent): boolean {
  if (!(target instanceof Element) || !currentTarget.contains(target)) return false;
  return target.closest("a, label, input, button") === null;
}

function ariaSort(sort: string | undefined): "ascending" | "descending" | "none" {
  if (sort === "outcome") return "ascending";
  return sort === "-outcome" ? "descending" : "none";
}

function SortMark({ sort }: { sort: string | undefined }): ReactElement {
  if (sort === "outcome") return <IconArrowUp size={12} aria-hidden />;
  if (sort === "-outcome") return <IconArrowDown size={12} aria-hidden />;
  return <IconArrowsSort size={12} aria-hidden />;
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
