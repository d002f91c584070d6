// The rows of a transcript: the steps of a run in reading order, without containers whose steps are shown.
import type { StepSummary, StepType } from "@/api/schema";
import { isFailed } from "@/domain/steps/labels";
import type { Node, StepIndex } from "../steps/tree";

/**
 * What a row shows: a step; the name of an agent above its steps; the input above or the output below the steps of a
 * container in which no model is called; or the failure of a container below its steps.
 */
export type RowPart = "step" | "agent" | "input" | "output" | "failure";

export interface TranscriptRow {
  key: string;
  step: StepSummary;
  part: RowPart;
}

const CONTAINERS: ReadonlySet<StepType> = new Set<StepType>(["agent", "turn", "planner"]);

export function transcriptRows(index: StepIndex): TranscriptRow[] {
  const withModel = containersWithModel(index);
  const rows: TranscriptRow[] = [];
  const stack: (Node | TranscriptRow)[] = index.roots.toReversed();
  for (let item = stack.pop(); item; item = stack.pop()) {
    if ("part" in item) {
      rows.push(item);
      continue;
    }
    const { first, last } = rowsAround(item, withModel.has(item.step.sequence_no));
    if (first) rows.push(first);
    if (last) stack.push(last);
    for (const child of item.children.toReversed()) stack.push(child);
  }
  return rows;
}

/** The rows of steps in a flat list, such as the matches of a filter. */
export function flatRows(nodes: readonly Node[]): TranscriptRow[] {
  return nodes.map(({ step }) => row(step, "step"));
}

/** The rows above and below the children of a step. */
function rowsAround(node: Node, hasModel: boolean): { first: TranscriptRow | null; last: TranscriptRow | null } {
  const { step } = node;
  if (node.children.length === 0 || !CONTAINERS.has(step.type)) return { first: row(step, "step"), last: null };
  if (!hasModel) return { first: row(step, "input"), last: row(step, "output") };
  return {
    first: step.type === "agent" && step.parent !== null ? row(step, "agent") : null,
    last: isFailed(step.status) ? row(step, "failure") : null,
  };
}

const row = (step: StepSummary, part: RowPart): TranscriptRow => ({ key: `${step.sequence_no}-${part}`, step, part });

function containersWithModel({ bySequence }: StepIndex): Set<number> {
  const numbers = new Set<number>();
  for (const { step } of bySequence.values()) {
    if (step.type !== "model") continue;
    let parent = step.parent;
    while (parent !== null && !numbers.has(parent)) {
      numbers.add(parent);
      parent = bySequence.get(parent)?.step.parent ?? null;
    }
  }
  return numbers;
}

/** The steps that have a row, once each. */
export const numbersOf = (rows: readonly TranscriptRow[]): number[] => [
  ...new Set(rows.map(({ step }) => step.sequence_no)),
];

/** The step that is `offset` steps from the selected one. A step without a row counts as before the next one. */
export function stepAtOffset(numbers: readonly number[], selectedNumber: number | null, offset: number): number | null {
  const index = numbers.indexOf(selectedNumber ?? 0);
  const start = index >= 0 ? index : firstAfter(numbers, selectedNumber ?? 0) - (offset > 0 ? 1 : 0);
  return numbers[Math.max(0, Math.min(numbers.length - 1, start + offset))] ?? null;
}

/** The index of the first number above a limit, or the count if there is none. */
function firstAfter(numbers: readonly number[], limit: number): number {
  const index = numbers.findIndex((number) => number > limit);
  return index < 0 ? numbers.length : index;
}
