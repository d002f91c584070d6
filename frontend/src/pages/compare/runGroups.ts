/** Runs to compare, those that are most like the run on the other side first. */
import type { RunSummary } from "@/api/schema";

export interface RunGroup {
  title: string;
  runs: RunSummary[];
}

/** The run on the other side, and the ids of its family: the recorded run and all of its forks. */
export interface OtherSide {
  run: Pick<RunSummary, "id" | "name" | "app">;
  family: ReadonlySet<string>;
}

/** The family of the other side, its app (the same task first), then the rest. Without another side, by app. */
export function groupRuns(runs: readonly RunSummary[], otherSide: OtherSide | null): RunGroup[] {
  if (otherSide === null) return groupByApp(runs);
  const { run, family } = otherSide;
  const candidates = runs.filter(({ id }) => id !== run.id);
  const isSameApp = ({ app }: RunSummary) => app !== "" && app === run.app;
  const strangers = candidates.filter(({ id }) => !family.has(id));
  const sameApp = strangers.filter(isSameApp);
  const isSameTask = ({ name }: RunSummary) => name === run.name;
  return [
    { title: "Same recorded run and its forks", runs: sourcesFirst(candidates.filter(({ id }) => family.has(id))) },
    { title: `Other runs of ${run.app}`, runs: withForks(sameApp).sort((a, b) => +isSameTask(b) - +isSameTask(a)) },
    { title: "Other runs", runs: withForks(strangers.filter((run) => !isSameApp(run))) },
  ].filter(({ runs }) => runs.length > 0);
}

function groupByApp(runs: readonly RunSummary[]): RunGroup[] {
  const apps = [...new Set(runs.map(({ app }) => app))];
  return apps.map((app) => ({ title: app || "No app", runs: withForks(runs.filter((run) => run.app === app)) }));
}

/** Each run followed by its forks, in the order of the list. */
function withForks(runs: readonly RunSummary[]): RunSummary[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const families = new Map<string, RunSummary[]>();
  for (const run of runs) {
    const first = firstOf(run, byId);
    families.set(first, [...(families.get(first) ?? []), run]);
  }
  return [...families.values()].flatMap(sourcesFirst);
}

/** The id of the recorded run, or of the nearest one to it if that is not listed. */
function firstOf(run: RunSummary, byId: ReadonlyMap<string, RunSummary>): string {
  const source = run.source_run === null ? undefined : byId.get(run.source_run);
  return source ? firstOf(source, byId) : (run.source_run ?? run.id);
}

function sourcesFirst(runs: readonly RunSummary[]): RunSummary[] {
  return runs.toSorted((a, b) => Number(a.source_run !== null) - Number(b.source_run !== null));
}
