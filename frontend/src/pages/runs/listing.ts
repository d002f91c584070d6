// The run list as data: merging new runs, ordering a pair, scaling bars.
import type { InfiniteData } from "@tanstack/react-query";
import { count, pluralize } from "@/ui/format/numbers";
import type { RunList, RunSummary, SearchHit } from "@/api/schema";

export function allRuns(data: InfiniteData<RunList> | undefined): RunSummary[] {
  return data?.pages.flatMap((page) => page.runs) ?? [];
}

/** The hits of a search by run. */
export function hitsByRun(data: InfiniteData<RunList> | undefined): ReadonlyMap<string, SearchHit> {
  return new Map(data?.pages.flatMap((page) => page.hits).map((hit) => [hit.run, hit]));
}

/** How many runs the list has, as far as they are counted. */
export function totalWords(data: InfiniteData<RunList>): string {
  const page = data.pages[0];
  if (page?.total == null) return `${pluralize(allRuns(data).length, "run")} shown`;
  return page.more_than_total ? `${count(page.total)}+ runs` : pluralize(page.total, "run");
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
    runs: [...(index === 0 ? newRuns : []), ...page.runs.map((run) => byId.get(run.id) ?? run)],
  }));
  return { ...data, pages };
}

/** The next sort order when the column is clicked: by outcome, reversed, then newest first. */
export function nextSort(sort: string | undefined): string | undefined {
  if (sort === "outcome") return "-outcome";
  return sort === "-outcome" ? undefined : "outcome";
}

export function sortWords(sort: string | undefined): string {
  if (sort === "outcome") return "failed first";
  return sort === "-outcome" ? "failed last" : "newest first";
}

/** Choose the base of two runs: the source of the other one, or else the older one. */
export function orderPair(first: RunSummary, second: RunSummary): { base: RunSummary; candidate: RunSummary } {
  if (first.source_run === second.id) return { base: second, candidate: first };
  if (second.source_run === first.id) return { base: first, candidate: second };
  const age = (run: RunSummary) => Date.parse(run.started_at ?? run.created_at);
  return age(first) <= age(second) ? { base: first, candidate: second } : { base: second, candidate: first };
}

/** Share of the longest duration on screen, by square root, so that one slow run does not hide the others. */
export function barShare(value: number | null, longest: number): number {
  return value === null || longest <= 0 ? 0 : Math.max(0.02, Math.sqrt(value / longest));
}

/** Add or remove a run. */
export function toggleSelection(selection: readonly string[], id: string): string[] {
  return selection.includes(id) ? selection.filter((item) => item !== id) : [...selection, id];
}

/** How many of the listed runs are selected. */
export function coverageOf(selection: readonly string[], runs: readonly { id: string }[]): "none" | "some" | "all" {
  const count = runs.filter(({ id }) => selection.includes(id)).length;
  if (count === 0) return "none";
  return count === runs.length ? "all" : "some";
}

/** Select all listed runs, or none if all are selected. */
export function toggleAll(selection: readonly string[], runs: readonly { id: string }[]): string[] {
  return coverageOf(selection, runs) === "all" ? [] : runs.map(({ id }) => id);
}
