// What passes a run: an outcome rule or one judgement, while it is edited.

export interface JudgementDraft {
  judgement: string;
  side: "at_least" | "at_most";
  limit: number | string;
}

export const NO_JUDGEMENT: JudgementDraft = { judgement: "", side: "at_least", limit: "" };

/** The judgement and its bound as the API takes them. */
export function judgementOf({ judgement, side, limit }: JudgementDraft): Record<string, string | number> {
  return { judgement: judgement.trim(), ...(limit !== "" && { [side]: Number(limit) }) };
}

/** Whether the question is an outcome that replays can only produce with checks or validators. */
export function isOutcomeQuestion(question: string): question is "outcome" | "judgement" {
  return question === "outcome" || question === "judgement";
}
