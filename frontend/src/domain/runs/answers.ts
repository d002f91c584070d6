/** The answers of a run and of its source, short enough for a row. */
import type { RunSummary } from "@/api/schema";

/** What a change did to the answer. `before` is empty if the source has no answer, or is not a source. */
export interface AnswerEffect {
  isSame: boolean;
  before: string;
  after: string;
}

// Characters that answers may have in common at the start before a row leaves them out, and that it shows of them.
const LONG_START = 32;
const CONTEXT = 16;

export function answerEffect({ answer, source_answer }: Pick<RunSummary, "answer" | "source_answer">): AnswerEffect {
  const before = source_answer ?? "";
  // Of long answers only the start is at hand, and their ends may differ.
  if (before === "" || before === answer) return { isSame: before !== "" && !isCut(answer), before: "", after: answer };
  const cut = sharedStart(before, answer);
  return { isSame: false, before: shorten(before, cut), after: shorten(answer, cut) };
}

/** Whether the server shortened an answer. */
export function isCut(answer: string): boolean {
  return answer.endsWith("…");
}

/** How many characters both texts begin with, up to the start of a word; 0 if they are few. */
function sharedStart(first: string, second: string): number {
  let length = 0;
  while (length < first.length && first[length] === second[length]) length += 1;
  if (length < LONG_START) return 0;
  return first.lastIndexOf(" ", length - CONTEXT) + 1;
}

function shorten(text: string, cut: number): string {
  return cut > 0 ? `…${text.slice(cut)}` : text;
}
