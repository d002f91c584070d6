/** The replays of a proof as rows of dots: one row for each test, one dot for each replay. */
import type { Findings, ProbeEvidence } from "@/api/schema";

export type Dot = "base" | "candidate" | "other" | "none";

export interface TestRow {
  title: string;
  dots: Dot[];
  /** What the row shows. */
  words: string;
}

/** The names of the two outcomes: of a fork, the recorded and the new answer. */
export interface OutcomeNames {
  base: string;
  candidate: string;
}

export function outcomeNames({ question }: Findings, isFork: boolean): OutcomeNames {
  const noun = question.kind.startsWith("answer") ? "answer" : "outcome";
  return isFork
    ? { base: `recorded ${noun}`, candidate: `new ${noun}` }
    : { base: `base's ${noun}`, candidate: `candidate's ${noun}` };
}

/** Changes with rows of their own. A proof may test hundreds. */
const MAX_ROWS = 4;

export function testRows(findings: Findings, names: OutcomeNames): TestRow[] {
  const changes = findings.atoms.filter(({ testable, parent }) => testable && parent === null);
  const all = changes.map(({ id }) => id);
  const causes = new Set(findings.primary.flat());
  const first = [...changes].sort((a, b) => Number(causes.has(b.id)) - Number(causes.has(a.id))).slice(0, MAX_ROWS);
  const isOnly = changes.length === 1;
  const rows = first.flatMap(({ id, title }) => {
    const name = isOnly ? "this change" : title.charAt(0).toLowerCase() + title.slice(1);
    return [
      row(`Only ${name} applied`, dotsOf(findings, "base", [id]), names, "candidate"),
      row(`Only ${name} removed`, dotsOf(findings, "candidate", omit(all, id)), names, "base"),
    ];
  });
  return [
    ...rows,
    row("Base unchanged", dotsOf(findings, "base", []), names, "base"),
    row("Candidate unchanged", dotsOf(findings, "candidate", all), names, "candidate"),
  ].filter(({ dots }) => dots.length > 0);
}

function omit(ids: readonly string[], id: string): string[] {
  return ids.filter((item) => item !== id);
}

function dotsOf(findings: Findings, side: ProbeEvidence["side"], changes: readonly string[]): Dot[] {
  return findings.probes
    .filter((probe) => probe.clamped === null && probe.side === side && isSame(probe.applied, changes))
    .flatMap((probe) => (probe.outcomes.length > 0 ? probe.outcomes : [probe.outcome]).map(dot));
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((id) => right.includes(id));
}

function dot(outcome: ProbeEvidence["outcome"]): Dot {
  return outcome === "needs_live" || outcome === "failed" ? "none" : outcome;
}

function row(title: string, dots: Dot[], names: OutcomeNames, hope: "base" | "candidate"): TestRow {
  return { title, dots, words: words(dots, names, hope) };
}

function words(dots: readonly Dot[], names: OutcomeNames, hope: "base" | "candidate"): string {
  const hits = dots.filter((item) => item === hope).length;
  const runs = dots.filter((item) => item !== "none").length;
  if (runs === 0) return "could not run";
  if (hits === 0) return `never the ${names[hope]}`;
  return `${names[hope]}, ${hits} of ${runs}`;
}

/** What the dots mean for the screen reader, which does not see them. */
export function dotsLabel(dots: readonly Dot[], names: OutcomeNames): string {
  const labels: Record<Dot, string> = { ...names, other: "something else", none: "did not run" };
  const counts = new Map<string, number>();
  for (const item of dots) counts.set(labels[item], (counts.get(labels[item]) ?? 0) + 1);
  return [...counts].map(([label, number]) => `${number} ${label}`).join(", ");
}
