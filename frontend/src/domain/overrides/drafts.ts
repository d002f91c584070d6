// The forks of one run that are being edited: each step that a fork starts from has its own changes.
import { emptyDraft, type Draft } from "./draft";

/** Drafts by the step that their fork starts from. A step without changes has none. */
export type Drafts = Record<number, Draft>;

export function draftOfFork(drafts: Drafts, fork: number | null): Draft {
  return (fork === null ? undefined : drafts[fork]) ?? emptyDraft;
}

export function withDraft(drafts: Drafts, fork: number, draft: Draft): Drafts {
  const { [fork]: _, ...rest } = drafts;
  return isEmpty(draft) ? rest : { ...rest, [fork]: draft };
}

/** Move a fork to another step. All its changes still apply from an earlier step on, but not from a later one. */
export function withForkMoved(drafts: Drafts, fork: number, target: number): Drafts {
  const draft = drafts[fork];
  return draft && target < fork && !(target in drafts) ? { ...drafts, [target]: draft } : drafts;
}

/** The steps of other forks that have changes, in their order. */
export function otherForks(drafts: Drafts, fork: number): number[] {
  return Object.entries(drafts)
    .filter(([step, { overrides }]) => Number(step) !== fork && overrides.length > 0)
    .map(([step]) => Number(step));
}

function isEmpty({ overrides, policy }: Draft): boolean {
  return overrides.length === 0 && Object.keys(policy).length === 0;
}
