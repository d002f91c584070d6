// Descriptions of judgements.
import type { JudgementView } from "@/api/schema";
import { SOURCES } from "@/domain/runs/judgements";

/** The source of a judgement: "ada", "imported", "imported, from ada". */
export function authorWords(judgement: Pick<JudgementView, "source" | "by">): string {
  if (judgement.source === "person") return judgement.by || "person";
  return judgement.by ? `${SOURCES[judgement.source]}, from ${judgement.by}` : SOURCES[judgement.source];
}

/** The verdict or value of a judgement: "pass", "0.5", "did not run". */
export function statedWords(judgement: Pick<JudgementView, "kind" | "value">): string {
  switch (judgement.kind) {
    case "score":
      return String(judgement.value);
    case "not_run":
      return "did not run";
    default:
      return judgement.kind;
  }
}

/** Judgements of one step, or of the run. */
export function judgementsOfStep<T extends Pick<JudgementView, "step">>(
  judgements: readonly T[],
  step: number | null,
): T[] {
  return judgements.filter((judgement) => judgement.step === step);
}
