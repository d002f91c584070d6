import { Button } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { IconPlugConnected, IconUpload } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { lazy, useCallback, useMemo, useRef, useState, type ReactElement } from "react";
import { useConnection } from "@/api/connection/connection";
import { facetsQuery, runsQuery } from "@/api/runs/runs";
import type { RunSummary } from "@/api/schema";
import { ErrorState } from "@/ui/ErrorState";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { LateDialog } from "@/ui/late/LateDialog";
import { useScreenQuery } from "@/ui/paper/paper";
import { pickedFiles } from "@/ui/pointer/chosenFiles";
import { useDroppedFiles } from "@/ui/pointer/droppedFiles";
import { loadPart } from "@/api/connection/loadPart";
import { useRoleObstacle } from "@/features/runners/engine/useRoleObstacle";
import { useRunActions } from "@/features/retention/useRunActions";
import { SelectionBar } from "./bulk/SelectionBar";
import { runsOf } from "./families/listRows";
import { useFamilies } from "./families/useFamilies";
import { allRuns, familiesByRoot, hitsByRun, toggleAll, toggleSelection, totalWords } from "./listing";
import { NoRuns } from "./NoRuns";
import classes from "./RunsPage.module.css";
import { formatColumns, parseColumns, type OptionalColumn } from "./table/columnChoice";
import { RunsTable } from "./table/RunsTable";
import { isFiltered, toFilter, withoutFilters, type RunsSearch } from "./search";
import { sortWords } from "./sort";
import { Toolbar } from "./Toolbar";
import { useImport } from "./import/useImport";
import { useLiveRuns } from "./useLiveRuns";

const route = getRouteApi("/");
const ImportDialog = lazy(() => loadPart(() => import("./import/ImportDialog")));

export function RunsPage(): ReactElement {
  const search = route.useSearch();
  const navigate = useNavigate();
  const narrow = useScreenQuery("(max-width: 44.9375rem)");
  const searchField = useRef<HTMLInputElement>(null);
  const filePicker = useRef<HTMLInputElement>(null);
  const [selection, setSelection] = useState<RunSummary[]>([]);
  const [storedColumns, storeColumns] = useLocalStorage({ key: "runs-columns", defaultValue: "" });
  const filter = useMemo(() => toFilter(search), [search]);
  const list = useInfiniteQuery(runsQuery(filter));
  const facets = useQuery(facetsQuery);
  const imports = useImport();
  useDroppedFiles(imports.start);
  const importObstacle = useRoleObstacle("Importing needs");
  const pickFiles = () => importObstacle === null && filePicker.current?.click();
  const live = useLiveRuns(filter);
  const { reachable } = useConnection();

  const setSearch = (next: RunsSearch) => void navigate({ ...paths.runs(next), replace: true });
  const setSort = (sort: string | undefined) => {
    const { sort: _, ...rest } = search;
    setSearch(sort ? { ...rest, sort } : rest);
  };
  useShortcuts("Runs", [
    { keys: "/", action: "Search", run: () => searchField.current?.select() },
    { keys: "i", action: "Import files", run: pickFiles },
  ]);

  const runs = useMemo(() => allRuns(list.data), [list.data]);
  const total = list.isSuccess ? totalWords(list.data) : "";
  const hits = useMemo(() => hitsByRun(list.data), [list.data]);
  const families = useMemo(() => familiesByRoot(list.data), [list.data]);
  const { rows, onToggle: toggleForks, onShowAll: showAllForks } = useFamilies(runs, families, filter);
  const columns = useMemo(() => parseColumns(search.columns ?? storedColumns), [search.columns, storedColumns]);
  const setColumns = (next: readonly OptionalColumn[]) => {
    storeColumns(formatColumns(next));
    if (search.columns) setSearch({ ...search, columns: formatColumns(next) });
  };
  const listedRuns = useMemo(() => runsOf(rows), [rows]);
  const selectedRuns = selection.map((run) => listedRuns.find(({ id }) => id === run.id) ?? run);
  const deselect = (ids: readonly string[]) => setSelection((current) => current.filter(({ id }) => !ids.includes(id)));
  const actions = useRunActions(deselect);
  const toggle = useCallback((run: RunSummary) => setSelection((current) => toggleSelection(current, run)), []);

  return (
    <div className={classes.page}>
      <title>Runs · Forkpoint</title>
      <header className={classes.header}>
        <h1>Runs</h1>
        <span className="muted num" role="status">
          {total}
          {total && <span className={classes.sorting}> · {sortWords(search.sort)}</span>}
        </span>
        {live === "waiting" && reachable && <span className="chip simulated">reconnecting…</span>}
        <span className="grow" />
        <Button
          renderRoot={(props) => <Link {...paths.connect()} {...props} />}
          variant="default"
          leftSection={<IconPlugConnected size={15} />}
        >
          Connect
        </Button>
        <Button
          variant="default"
          leftSection={<IconUpload size={15} />}
          disabled={importObstacle !== null}
          title={importObstacle ?? undefined}
          onClick={pickFiles}
        >
          Import
        </Button>
        <input
          ref={filePicker}
          type="file"
          multiple
          hidden
          aria-label="Trace files to import"
          onChange={(event) => {
            imports.start(pickedFiles(event.target.files ?? []));
            event.target.value = "";
          }}
        />
      </header>
      <Toolbar
        search={search}
        onChange={setSearch}
        onSort={setSort}
        facets={facets.data}
        unindexedRuns={list.data?.pages[0]?.unindexed_runs ?? 0}
        columns={columns}
        onColumns={setColumns}
        isNarrow={narrow}
        searchField={searchField}
      />
      {list.isError && !list.data ? (
        <ErrorState error={list.error} onRetry={() => void list.refetch()} />
      ) : list.isSuccess && runs.length === 0 && !list.hasNextPage ? (
        <NoRuns
          hasFilters={isFiltered(search)}
          onClear={() => setSearch(withoutFilters(search))}
          onPick={() => filePicker.current?.click()}
        />
      ) : (
        <RunsTable
          rows={rows}
          hits={hits}
          pending={list.isPending}
          stale={list.isPlaceholderData}
          sort={search.sort}
          onSort={setSort}
          columns={columns}
          cards={narrow}
          selection={selection}
          onToggle={toggle}
          onToggleAll={() => setSelection((current) => toggleAll(current, listedRuns))}
          isNested={filter["forks"] === "nested" && !search.q}
          onToggleForks={toggleForks}
          onShowAllForks={showAllForks}
          actions={actions}
          hasMore={list.hasNextPage}
          loadingMore={list.isFetchingNextPage}
          onMore={() => void list.fetchNextPage()}
        />
      )}
      <SelectionBar runs={selectedRuns} actions={actions} onClear={() => setSelection([])} />
      {actions.dialog}
      <LateDialog opened={imports.state.phase !== "idle"}>{() => <ImportDialog imports={imports} />}</LateDialog>
    </div>
  );
}
