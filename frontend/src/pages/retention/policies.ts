// Retention policies in words, and as drafts while they are edited.
import type { PlannedRunView, RetentionPolicyView, RetentionTerms } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";

export interface Draft {
  app: string;
  tag: string;
  /** Empty: forever. */
  days: number | string;
  keepPinned: boolean;
  legalHold: boolean;
}

const MAX_DAYS = 36_500;

export const NEW_DRAFT: Draft = { app: "", tag: "", days: 90, keepPinned: true, legalHold: false };

export function draftOf(policy: RetentionTerms): Draft {
  return {
    app: policy.app,
    tag: policy.tag,
    days: policy.days ?? "",
    keepPinned: policy.keep_pinned,
    legalHold: policy.legal_hold,
  };
}

export function termsOf({ app, tag, days, keepPinned, legalHold }: Draft): RetentionTerms {
  return {
    app: app.trim(),
    tag: tag.trim(),
    days: days === "" ? null : Number(days),
    keep_pinned: keepPinned,
    legal_hold: legalHold,
  };
}

type Scope = Pick<RetentionTerms, "app" | "tag">;

const isSameScope = (a: Scope, b: Scope): boolean => a.app === b.app && a.tag === b.tag;

/** Why a draft cannot be saved; null if it can. `current` is the policy that it changes. */
export function draftProblem(draft: Draft, policies: readonly Scope[], current: Scope | null): string | null {
  const terms = termsOf(draft);
  if (terms.days !== null && !(Number.isInteger(terms.days) && terms.days >= 1 && terms.days <= MAX_DAYS)) {
    return `Days must be a whole number from 1 to ${MAX_DAYS.toLocaleString("en-US")}.`;
  }
  const isTaken = policies.some((policy) => isSameScope(policy, terms)) && !(current && isSameScope(current, terms));
  return isTaken ? `There is a policy for ${scopeWords(terms)} already. Edit that one.` : null;
}

/** The policies as they would be with the draft in place of the one it edits. */
export function policiesWith(draft: Draft, policies: readonly RetentionPolicyView[]): RetentionTerms[] {
  const terms = termsOf(draft);
  const rest = policies.filter((policy) => !isSameScope(policy, terms));
  return [...rest.map((policy) => termsOf(draftOf(policy))), terms];
}

/** "all runs", "order-desk", "order-desk, tagged golden". */
export function scopeWords({ app, tag }: Scope): string {
  if (!app) return tag ? `all apps, tagged ${tag}` : "all runs";
  return tag ? `${app}, tagged ${tag}` : app;
}

export function daysWords(days: number | null): string {
  return days === null ? "forever" : pluralize(days, "day");
}

/** Why a run stays although it is older than its policy allows. */
export function protectionWords({ protection }: Pick<PlannedRunView, "protection">): string {
  switch (protection) {
    case "":
      return "";
    case "pinned":
      return "pinned";
    case "held":
      return "under legal hold";
    case "cited":
      return "cited";
    default:
      return protection satisfies never;
  }
}
