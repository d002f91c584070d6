// Descriptions of places, and how well each kind finds failures.
import type { PassingRun, PlaceKindView, PlaceView, RunSummary } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";

const MOST_FIRST = 3;

type RunOutcomeFields = Pick<RunSummary, "outcome" | "status" | "sealed">;

/** Whether a run gets the panel: only if it failed or its checks did not run. */
export function needsPlaces(run: RunOutcomeFields): boolean {
  return run.sealed && (run.outcome === "failed" || run.outcome === "unverified" || run.status === "failed");
}

/** The places of one kind, or of all kinds. */
export function placesOfKind(places: readonly PlaceView[], kind: string | null): readonly PlaceView[] {
  return kind === null ? places : places.filter((place) => place.kind === kind);
}

/** The first places that are steps, each step once. */
export function firstSteps(places: readonly PlaceView[]): { step: number; title: string }[] {
  const titles = new Map<number, string>();
  for (const { step, title } of places) if (step !== null && !titles.has(step)) titles.set(step, title);
  return [...titles].slice(0, MOST_FIRST).map(([step, title]) => ({ step, title }));
}

/** The folded panel of a run none of whose steps stands out. */
export function runWords(places: readonly PlaceView[]): string {
  const judgements = places.slice(0, MOST_FIRST).map(({ title }) => title);
  return ["no step stands out", ...judgements].join(" · ");
}

/** The options of the kind filter. */
export function kindChoices(kinds: readonly PlaceKindView[]): { value: string; label: string }[] {
  return kinds.map((kind) => ({ value: kind.kind, label: `${kind.title} (${kind.places})` }));
}

/** How often a kind was right on labelled failures, or that this was not measured. */
export function measurementWords(kind: PlaceKindView): string {
  const figures = kind.measured.map(
    (figure) =>
      `On labelled failures (${figure.source}), ${figure.near} of ${pluralize(figure.places, "place")} ` +
      `were at or next to the step that reviewers blamed (95 % interval: ${percent(figure.low)} to ${percent(figure.high)}).`,
  );
  const occurrences = kind.seen.map(
    (occurrence) =>
      `${occurrence.source}: in ${percent(occurrence.failed / occurrence.failed_runs)} of ${occurrence.failed_runs} failed runs ` +
      `and ${percent(occurrence.passed / occurrence.passed_runs)} of ${occurrence.passed_runs} passed runs.`,
  );
  return [...(figures.length > 0 ? figures : ["Not measured on labelled failures."]), ...occurrences].join("\n");
}

/** The share of a kind's places that reviewers blamed, in short. */
export function precision(kind: PlaceKindView): string {
  if (kind.kind === "judgement") return "";
  const [first] = kind.measured;
  return first ? `right in ${first.near} of ${first.places}` : "not measured";
}

export function nearness(run: PassingRun): string {
  switch (run.nearness) {
    case "same_task":
      return "same task";
    case "same_input":
      return "same first input";
    case "same_app":
      return "same app";
    default:
      return run.nearness satisfies never;
  }
}

const percent = (share: number) => `${Math.round(100 * share)} %`;
