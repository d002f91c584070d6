// The steps of a run as rows of a tree. Pure: one pass for the index, one for the visible rows.
import type { StepStatus, StepSummary, StepType } from "@/api/schema";
import { failureWords } from "@/ui/failure/failure";
import { isFailed, markOf, type Mark } from "@/domain/steps/labels";

export interface Node {
  step: StepSummary;
  depth: number;
  children: Node[];
  /** Number of steps below this one, and how many of them failed. */
  size: number;
  failed: number;
}
export interface StepIndex {
  roots: Node[];
  bySequence: Map<number, Node>;
  /** Run time that the waterfall covers. 0 without timing. */
  spanMs: number;
}
export interface StepFilter {
  text: string;
  types: readonly StepType[];
  marks: readonly Mark[];
  statuses: readonly StepStatus[];
  /** Steps whose payloads, attributes or errors contain the text. */
  matchingSteps?: ReadonlySet<number>;
}
export const noFilter: StepFilter = { text: "", types: [], marks: [], statuses: [] };

/** Steps come in sequence order, parents before children. A step with a missing parent becomes a root. */
export function indexSteps(steps: readonly StepSummary[]): StepIndex {
  const bySequence = new Map<number, Node>();
  const roots: Node[] = [];
  let spanMs = 0;
  for (const step of steps) {
    const parent = step.parent === null ? undefined : bySequence.get(step.parent);
    const node: Node = { step, depth: parent ? parent.depth + 1 : 0, children: [], size: 0, failed: 0 };
    (parent?.children ?? roots).push(node);
    bySequence.set(step.sequence_no, node);
    spanMs = Math.max(spanMs, (step.offset_ms ?? 0) + (step.duration_ms ?? 0));
  }
  for (const step of steps.toReversed()) rollUp(bySequence, step);
  return { roots, bySequence, spanMs };
}

function rollUp(bySequence: Map<number, Node>, step: StepSummary): void {
  const node = bySequence.get(step.sequence_no);
  const parent = step.parent === null ? undefined : bySequence.get(step.parent);
  if (!node || !parent) return;
  parent.size += node.size + 1;
  parent.failed += node.failed + (isFailed(step.status) ? 1 : 0);
}

export function isFilterOn(filter: StepFilter): boolean {
  return filter.text !== "" || filter.types.length + filter.marks.length + filter.statuses.length > 0;
}

export function matchesFilter(step: StepSummary, filter: StepFilter): boolean {
  if (filter.types.length > 0 && !filter.types.includes(step.type)) return false;
  if (filter.marks.length > 0 && !filter.marks.includes(markOf(step))) return false;
  if (filter.statuses.length > 0 && !filter.statuses.includes(step.status)) return false;
  if (!filter.text || filter.matchingSteps?.has(step.sequence_no)) return true;
  const text = filter.text.toLowerCase();
  return [step.name, step.summary, step.model, step.tool_name, step.type, String(step.sequence_no)].some((field) =>
    field.toLowerCase().includes(text),
  );
}

/** The rows to draw: unfolded ones, or a flat list of matches. */
export function visibleRows(index: StepIndex, foldedSteps: ReadonlySet<number>, filter: StepFilter): Node[] {
  const rows: Node[] = [];
  if (isFilterOn(filter)) {
    for (const node of index.bySequence.values()) if (matchesFilter(node.step, filter)) rows.push(node);
    return rows;
  }
  const stack = index.roots.toReversed();
  for (let node = stack.pop(); node; node = stack.pop()) {
    rows.push(node);
    if (foldedSteps.has(node.step.sequence_no)) continue;
    for (let child = node.children.length - 1; child >= 0; child--) {
      const next = node.children[child];
      if (next) stack.push(next);
    }
  }
  return rows;
}

/** Fold every step that has children. */
export function foldAll(index: StepIndex): Set<number> {
  const foldedSteps = new Set<number>();
  for (const node of index.bySequence.values()) if (node.children.length > 0) foldedSteps.add(node.step.sequence_no);
  return foldedSteps;
}

/** The folded steps without the ancestors of one step, so that it is visible. */
export function unfoldTo(index: StepIndex, foldedSteps: ReadonlySet<number>, sequenceNo: number): ReadonlySet<number> {
  const next = new Set(foldedSteps);
  let parent = index.bySequence.get(sequenceNo)?.step.parent ?? null;
  while (parent !== null) {
    next.delete(parent);
    parent = index.bySequence.get(parent)?.step.parent ?? null;
  }
  return next.size === foldedSteps.size ? foldedSteps : next;
}

export function toggleFold(foldedSteps: ReadonlySet<number>, sequenceNo: number): Set<number> {
  const next = new Set(foldedSteps);
  if (!next.delete(sequenceNo)) next.add(sequenceNo);
  return next;
}

/** The failed steps. Agents and turns fail because of a step inside them, so they count only if no other step failed. */
export function failedSteps(steps: readonly StepSummary[]): StepSummary[] {
  const failures = steps.filter((step) => isFailed(step.status));
  const innerFailures = failures.filter(({ type }) => type !== "agent" && type !== "turn");
  return innerFailures.length > 0 ? innerFailures : failures;
}

/** The next failed step, wrapping around. Null if none failed. */
export function nextFailed(steps: readonly StepSummary[], after: number, direction: 1 | -1 = 1): number | null {
  const failed = failedSteps(steps).map((step) => step.sequence_no);
  if (failed.length === 0) return null;
  const nextStep =
    direction === 1 ? failed.find((candidate) => candidate > after) : failed.findLast((candidate) => candidate < after);
  return nextStep ?? failed.at(direction === 1 ? 0 : -1) ?? null;
}

export interface Bar {
  left: number;
  width: number;
}

/** A step's position in the run's time, in percent. Null without recorded times. */
export function waterfall(step: StepSummary, spanMs: number): Bar | null {
  if (step.offset_ms === null || spanMs <= 0) return null;
  const left = Math.min(99, (Math.max(0, step.offset_ms) / spanMs) * 100);
  const width = ((step.duration_ms ?? 0) / spanMs) * 100;
  return { left, width: Math.min(100 - left, Math.max(width, 0)) };
}

/** Why a filter leaves no step. Texts of the steps that are still searched, or were not, may match it. */
export function emptyWords(isSearching: boolean, error: Error | null): string {
  if (isSearching) return "Searching all text of the steps…";
  return error === null
    ? "No step matches the filter."
    : `No name matches the filter, and the texts of the steps could not be searched. ${failureWords(error)}`;
}
