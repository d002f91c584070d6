import { ActionIcon, Indicator } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconFilter, IconGitFork } from "@tabler/icons-react";
import { lazy, Suspense, type ReactElement, type Ref } from "react";
import { loadPart } from "@/api/connection/loadPart";
import type { RunFacets } from "@/api/schema";
import { SearchField } from "@/features/filters/SearchField";
import { pluralize } from "@/ui/format/numbers";
import { Filters } from "./filters/Filters";
import filterClasses from "./filters/Filters.module.css";
import classes from "./RunsPage.module.css";
import { isFiltered, type RunsSearch } from "./search";
import { formatColumns, type OptionalColumn } from "./table/columnChoice";
import { ColumnsMenu } from "./table/ColumnsMenu";

const ViewsMenu = lazy(() => loadPart(() => import("./views/ViewsMenu")));
const SortSelect = lazy(() => loadPart(() => import("./SortSelect")));

interface Props {
  search: RunsSearch;
  onChange: (search: RunsSearch) => void;
  onSort: (sort: string | undefined) => void;
  facets: RunFacets | undefined;
  unindexedRuns: number;
  columns: readonly OptionalColumn[];
  onColumns: (columns: readonly OptionalColumn[]) => void;
  isNarrow: boolean;
  searchField: Ref<HTMLInputElement>;
}

/** Search, filters, and what the list shows. On a phone, all but the search are behind a button. */
export function Toolbar({ search, onChange, isNarrow, searchField, ...props }: Props): ReactElement {
  const [isOpen, { toggle }] = useDisclosure();
  const setText = (text: string) => {
    const { q: _, ...rest } = search;
    onChange(text ? { ...rest, q: text } : rest);
  };
  return (
    <div className={classes.filters}>
      <SearchField
        label="Search runs"
        placeholder="Search names, answers and payloads"
        ref={searchField}
        className={classes.search}
        value={search.q ?? ""}
        onChange={setText}
      />
      {isNarrow && (
        <Indicator disabled={!isFiltered(search)} size={9} offset={4}>
          <ActionIcon
            variant={isOpen ? "light" : "default"}
            size={40}
            aria-label="Filters and order"
            aria-expanded={isOpen}
            onClick={toggle}
          >
            <IconFilter size={17} />
          </ActionIcon>
        </Indicator>
      )}
      {(!isNarrow || isOpen) && (
        <div className={classes.rest}>
          <Filters search={search} facets={props.facets} onChange={onChange} />
          {isNarrow ? (
            <Suspense>
              <SortSelect sort={search.sort} onSort={props.onSort} />
            </Suspense>
          ) : (
            <span className="grow" />
          )}
          <Suspense>
            <ViewsMenu search={{ ...search, columns: formatColumns(props.columns) }} onChange={onChange} />
          </Suspense>
          <ForksToggle search={search} onChange={onChange} />
          {!isNarrow && <ColumnsMenu columns={props.columns} onChange={props.onColumns} />}
        </div>
      )}
      {props.unindexedRuns > 0 && (
        <span className="muted num">
          The payloads of {pluralize(props.unindexedRuns, "run")} cannot be searched yet
        </span>
      )}
    </div>
  );
}

/** Whether forks are below their first run, or have rows of their own. */
function ForksToggle({ search, onChange }: Pick<Props, "search" | "onChange">): ReactElement {
  const isNested = search.forks !== "listed" && !search.q;
  const toggle = () => {
    const { forks: _, ...rest } = search;
    onChange(isNested ? { ...rest, forks: "listed" } : rest);
  };
  return (
    <button
      type="button"
      className={filterClasses.quiet}
      aria-pressed={isNested}
      disabled={Boolean(search.q)}
      title={search.q ? "A search lists each run that contains the words" : undefined}
      onClick={toggle}
    >
      <IconGitFork size={15} aria-hidden /> {isNested ? "Forks nested" : "Forks listed"}
    </button>
  );
}
