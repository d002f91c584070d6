import { Button } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconPlugConnected, IconSearch, IconUpload } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo, useRef, useState, type ReactElement } from "react";
import { useConnection } from "@/api/connection/connection";
import { facetsQuery, runsQuery } from "@/api/runs/runs";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorState } from "@/ui/ErrorState";
import { pluralize } from "@/ui/format/numbers";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { ConnectGuide } from "@/features/connect/ConnectGuide";
import { useRunActions } from "@/features/retention/useRunActions";
import { SelectionBar } from "./SelectionBar";
import { Filters } from "./filters/Filters";
import { ImportDialog } from "./import/ImportDialog";
import { DropOverlay } from "./import/DropOverlay";
import { FirstVisit } from "./FirstVisit";
import { allRuns, hitsByRun, sortWords, toggleAll, toggleSelection, totalWords } from "./listing";
import classes from "./RunsPage.module.css";
import { RunsTable } from "./table/RunsTable";
import { SearchField } from "./filters/SearchField";
import { isFiltered, toFilter, type RunsSearch } from "./search";
import { useImport } from "./import/useImport";
import { useLiveRuns } from "./useLiveRuns";

const route = getRouteApi("/");

export function RunsPage(): ReactElement {
  const search = route.useSearch();
  const navigate = useNavigate();
  const narrow = useMediaQuery("(max-width: 767px)", false, { getInitialValueInEffect: false });
  const searchField = useRef<HTMLInputElement>(null);
  const filePicker = useRef<HTMLInputElement>(null);
  const [selection, setSelection] = useState<string[]>([]);
  const filter = useMemo(() => toFilter(search), [search]);
  const list = useInfiniteQuery(runsQuery(filter));
  const facets = useQuery(facetsQuery);
  const imports = useImport();
  const live = useLiveRuns(filter);
  const { reachable } = useConnection();

  const setSearch = (next: RunsSearch) => void navigate({ ...paths.runs(next), replace: true });
  const setText = (text: string) => {
    const { q: _, ...rest } = search;
    setSearch(text ? { ...rest, q: text } : rest);
  };
  const setSort = (sort: string | undefined) => {
    const { sort: _, ...rest } = search;
    setSearch(sort ? { ...rest, sort } : rest);
  };
  useShortcuts("Runs", [
    { keys: "/", action: "Search", run: () => searchField.current?.select() },
    { keys: "i", action: "Import files", run: () => filePicker.current?.click() },
  ]);

  const runs = useMemo(() => allRuns(list.data), [list.data]);
  const hits = useMemo(() => hitsByRun(list.data), [list.data]);
  const unindexedRuns = list.data?.pages[0]?.unindexed_runs ?? 0;
  const deselect = (ids: readonly string[]) => setSelection((current) => current.filter((id) => !ids.includes(id)));
  const actions = useRunActions(deselect);
  const selectedRuns = selection.flatMap((id) => runs.find((run) => run.id === id) ?? []);
  const toggle = useCallback((id: string) => setSelection((current) => toggleSelection(current, id)), []);

  return (
    <div className={classes.page}>
      <title>Runs · Forkpoint</title>
      <header className={classes.header}>
        <h1>Runs</h1>
        <span className="muted num" role="status">
          {list.isSuccess && `${totalWords(list.data)}, ${sortWords(search.sort)}`}
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
        <Button variant="default" leftSection={<IconUpload size={15} />} onClick={() => filePicker.current?.click()}>
          Import
        </Button>
        <input
          ref={filePicker}
          type="file"
          multiple
          hidden
          aria-label="Trace files to import"
          onChange={(event) => {
            imports.start([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
      </header>
      <FirstVisit />
      <div className={classes.filters}>
        <SearchField ref={searchField} className={classes.search} value={search.q ?? ""} onChange={setText} />
        <Filters search={search} facets={facets.data} onChange={setSearch} />
        {unindexedRuns > 0 && (
          <span className="muted num">The payloads of {pluralize(unindexedRuns, "run")} cannot be searched yet</span>
        )}
      </div>
      {list.isError && !list.data ? (
        <ErrorState error={list.error} onRetry={() => void list.refetch()} />
      ) : list.isSuccess && runs.length === 0 && !list.hasNextPage ? (
        <NoRuns
          hasFilters={isFiltered(search)}
          onClear={() => setSearch({})}
          onPick={() => filePicker.current?.click()}
        />
      ) : (
        <RunsTable
          runs={runs}
          hits={hits}
          pending={list.isPending}
          stale={list.isPlaceholderData}
          sort={search.sort}
          onSort={setSort}
          cards={narrow}
          selection={selection}
          onToggle={toggle}
          onToggleAll={() => setSelection((current) => toggleAll(current, runs))}
          actions={actions}
          hasMore={list.hasNextPage}
          loadingMore={list.isFetchingNextPage}
          onMore={() => void list.fetchNextPage()}
        />
      )}
      <SelectionBar runs={selectedRuns} actions={actions} onClear={() => setSelection([])} />
      {actions.dialog}
      <DropOverlay onFiles={imports.start} />
      <ImportDialog imports={imports} />
    </div>
  );
}

function NoRuns(props: { hasFilters: boolean; onClear: () => void; onPick: () => void }): ReactElement {
  if (props.hasFilters) {
    return (
      <EmptyState
        icon={<IconSearch size={28} stroke={1.5} />}
        title="No matching runs"
        action={
          <Button variant="default" onClick={props.onClear}>
            Clear the search and all filters
          </Button>
        }
      >
        Try fewer words or filters. The search finds whole words in names, ids, models, tags and payloads; the last word
        may be incomplete.
      </EmptyState>
    );
  }
  return (
    <div className={classes.connect}>
      <section className={`panel ${classes.guide}`} aria-labelledby="connect">
        <h2 id="connect">No runs yet: connect an agent</h2>
        <ConnectGuide />
      </section>
      <section className={`panel ${classes.guide}`} aria-labelledby="import">
        <h2 id="import">Or import files</h2>
        <p className="muted">
          Drop trace files anywhere on this page: OpenTelemetry, Langfuse, LangSmith, chat transcripts, Kurral, Prela or
          a Forkpoint bundle. The format is detected.
        </p>
        <div>
          <Button variant="default" leftSection={<IconUpload size={15} />} onClick={props.onPick}>
            Choose files
          </Button>
        </div>
      </section>
    </div>
  );
}
