// The run list as data: merging new runs, ordering a pair, scaling bars.
import type { InfiniteData } from "@tanstack/react-query";
import { count, pluralize } from "@/ui/format/numbers";
import type { RunFamily, RunList, RunSummary, SearchHit } from "@/api/schema";

/** The runs of all pages. A search may find one on two pages. */
export function allRuns(data: InfiniteData<RunList> | undefined): RunSummary[] {
  const runs = data?.pages.flatMap((page) => page.runs) ?? [];
  return [...new Map(runs.map((run) => [run.id, run])).values()];
}

/** The hits of a search by run. */
export function hitsByRun(data: InfiniteData<RunList> | undefined): ReadonlyMap<string, SearchHit> {
  return new Map(data?.pages.flatMap((page) => page.hits).map((hit) => [hit.run, hit]));
}

/** The forks of the listed runs, by run. */
export function familiesByRoot(data: InfiniteData<RunList> | undefined): ReadonlyMap<string, RunFamily> {
  return new Map(data?.pages.flatMap((page) => page.families).map((family) => [family.root, family]));
}

/** How many runs the list has, as far as they are counted. Nothing if it is empty: the page says so. */
export function totalWords(data: InfiniteData<RunList>): string {
  const page = data.pages[0];
  if (allRuns(data).length === 0) return "";
  if (page?.total == null) return `${pluralize(allRuns(data).length, "run")} shown`;
  return page.more_than_total ? `${count(page.total)}+ runs` : pluralize(page.total, "run");
}

/** On paper: how much of the list is printed, and how to print more. `rows`: those that are loaded. */
export function paperRest(rows: number, limit: number): string {
  if (rows > limit) return `The first ${count(limit)} rows. Filter the list to print others.`;
  return `The first ${count(rows)} rows. To print more, scroll down first, or filter the list.`;
}

/** Merge a fresh first page into a list of pages. Changed rows stay in place, new ones come first. */
export function mergeNewest(data: InfiniteData<RunList>, fresh: RunList): InfiniteData<RunList> {
  const byId = new Map(fresh.runs.map((run) => [run.id, run]));
  const knownIds = new Set(allRuns(data).map((run) => run.id));
  const newRuns = fresh.runs.filter((run) => !knownIds.has(run.id));
  const pages = data.pages.map((page, index) => ({
    ...page,
    total: fresh.total,
    more_than_total: fresh.more_than_total,
    hits: index === 0 ? [...page.hits, ...fresh.hits] : page.hits,
    // The last one of a run counts.
    families: index === data.pages.length - 1 ? [...page.families, ...fresh.families] : page.families,
    runs: [...(index === 0 ? newRuns : []), ...page.runs.map((run) => byId.get(run.id) ?? run)],
  }));
  return { ...data, pages };
}

/** Choose the base of two runs: the source of the other one, or else the older one. */
export function orderPair(first: RunSummary, second: RunSummary): { base: RunSummary; candidate: RunSummary } {
  if (first.source_run === second.id) return { base: second, candidate: first };
  if (second.source_run === first.id) return { base: first, candidate: second };
  const age = (run: RunSummary) => Date.parse(run.started_at ?? run.created_at);
  return age(first) <= age(second) ? { base: first, candidate: second } : { base: second, candidate: first };
}

type RunIdentity = Pick<RunSummary, "id">;

/** Add or remove a run. */
export function toggleSelection<Run extends RunIdentity>(selection: readonly Run[], run: Run): Run[] {
  const rest = selection.filter(({ id }) => id !== run.id);
  return rest.length < selection.length ? rest : [...selection, run];
}

/** How many of the listed runs are selected. */
export function coverageOf(selection: readonly RunIdentity[], runs: readonly RunIdentity[]): "none" | "some" | "all" {
  const ids = new Set(selection.map(({ id }) => id));
  const count = runs.filter(({ id }) => ids.has(id)).length;
  if (count === 0) return "none";
  return count === runs.length ? "all" : "some";
}

/** Select all listed runs, or none if all are selected. */
export function toggleAll<Run extends RunIdentity>(selection: readonly Run[], runs: readonly Run[]): Run[] {
  return coverageOf(selection, runs) === "all" ? [] : [...runs];
}
