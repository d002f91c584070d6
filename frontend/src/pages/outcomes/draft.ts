// An outcome rule while it is edited.
import type { DeciderView, JudgementName, OutcomeRuleRequest, OutcomeRuleView } from "@/api/schema";

export interface ThresholdDraft {
  name: string;
  side: "at_least" | "at_most";
  value: number | string;
}

export interface TagDraft {
  tag: string;
  outcome: "passed" | "failed";
}

export interface Draft {
  deciders: DeciderView[];
  thresholds: ThresholdDraft[];
  tags: TagDraft[];
}

/** What a part of the rule's form needs. */
export interface PartProps {
  draft: Draft;
  setDraft: (draft: Draft) => void;
  names: JudgementName[];
  current: OutcomeRuleView;
}

export const DECIDERS: Record<DeciderView["source"], { label: string; hint: string }> = {
  person: { label: "A person", hint: "the newest pass or fail" },
  import: { label: "Imported", hint: "rewards, scores, feedback and tags; one failure is enough" },
  check: { label: "Checks", hint: "checks, validators and judging models; one failure is enough" },
};

/** How far the judgements under one name agree with those of people. */
export function agreementWords({ name, source, agreement }: JudgementName): string {
  if (!agreement) return "";
  const { runs, equal_verdicts, kappa, low, high } = agreement;
  const share = `${name} (${source}) agrees on ${equal_verdicts} of ${runs} ${runs === 1 ? "run" : "runs"}`;
  if (kappa === null || low === null || high === null) return `${share}; all verdicts are the same, so κ is unknown`;
  return `${share}, κ ${twoDigits(kappa)} (95 %: ${twoDigits(low)} to ${twoDigits(high)})`;
}

const twoDigits = (value: number) => value.toFixed(2).replace("-", "−");

export function draftOf(rule: OutcomeRuleView): Draft {
  return {
    deciders: rule.deciders,
    thresholds: Object.entries(rule.thresholds).map(([name, { at_least, at_most }]) =>
      at_most === null ? { name, side: "at_least", value: at_least ?? "" } : { name, side: "at_most", value: at_most },
    ),
    tags: Object.entries(rule.tags).map(([tag, outcome]) => ({ tag, outcome })),
  };
}

/** The rule to save, without empty rows. */
export function toRule(draft: Draft): OutcomeRuleRequest {
  const thresholds = draft.thresholds.filter(({ name, value }) => name.trim() && value !== "");
  return {
    deciders: draft.deciders.map(({ source, name }) => ({ source, name: name.trim() })),
    thresholds: Object.fromEntries(
      thresholds.map(({ name, side, value }) => [
        name.trim(),
        { at_least: null, at_most: null, [side]: Number(value) },
      ]),
    ),
    tags: Object.fromEntries(draft.tags.filter(({ tag }) => tag).map(({ tag, outcome }) => [tag, outcome])),
  };
}

export function isEqualRule(left: Draft, right: Draft): boolean {
  return JSON.stringify(toRule(left)) === JSON.stringify(toRule(right));
}

/** Why the draft cannot be saved, in one sentence. Null if it can. */
export function draftProblem(draft: Draft): string | null {
  if (draft.deciders.length === 0) return "Add something that decides.";
  const names = draft.thresholds.map(({ name }) => name.trim()).filter(Boolean);
  return new Set(names).size < names.length ? "Each score can have one bound only." : null;
}

/** The list with an item moved up by one. */
export function movedUp<T>(items: readonly T[], index: number): T[] {
  const item = items[index];
  if (item === undefined || index === 0) return [...items];
  return items.toSpliced(index, 1).toSpliced(index - 1, 0, item);
}
