// What a failed run tells in four lines.
import type { RunSummary, StepSummary } from "@/api/schema";
import { isFailed } from "@/domain/steps/labels";
import { sentence } from "@/ui/format/text";

export interface Story {
  /** What the customer wrote, and the answer. */
  request: string;
  answer: string;
  /** The check that failed, and the last tool call before it. */
  check: { number: number; text: string } | null;
  call: { number: number; text: string } | null;
}

export function storyOf(
  run: Pick<RunSummary, "name" | "answer" | "outcome_reason">,
  steps: readonly StepSummary[],
): Story {
  const failedCheck = steps.findLast((step) => step.type === "validator" && isFailed(step.status));
  const lastCall = steps.findLast(
    (step) => step.type === "tool" && step.sequence_no < (failedCheck?.sequence_no ?? Infinity),
  );
  return {
    request: run.name,
    answer: run.answer,
    check: failedCheck
      ? { number: failedCheck.sequence_no, text: checkText(run.outcome_reason, failedCheck.name) }
      : null,
    call: lastCall ? { number: lastCall.sequence_no, text: lastCall.summary } : null,
  };
}

/** The reason of an outcome without the name of its check. */
function checkText(reason: string, name: string): string {
  return sentence(reason.startsWith(`${name}: `) ? reason.slice(name.length + 2) : reason);
}

export interface Piece {
  text: string;
  /** A number that the counterpart text contains, too. */
  isShared: boolean;
}

const NUMBER = /(?<![\w-])\d+(?:\.\d+)?/g;

/** Split a text at the numbers that it shares with another one: `4200` is `4200.00`. */
export function sharedNumbers(text: string, counterpart: string): Piece[] {
  const values = new Set((counterpart.match(NUMBER) ?? []).map(Number));
  const pieces: Piece[] = [];
  let end = 0;
  for (const { 0: digits, index } of text.matchAll(NUMBER)) {
    if (!values.has(Number(digits))) continue;
    if (index > end) pieces.push({ text: text.slice(end, index), isShared: false });
    pieces.push({ text: digits, isShared: true });
    end = index + digits.length;
  }
  return end < text.length ? [...pieces, { text: text.slice(end), isShared: false }] : pieces;
}
