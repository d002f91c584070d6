// Descriptions of ignore rules, and which proposals are already accepted.
import type { IgnoreRule, Proposal } from "@/api/schema";

export function ruleWords({ type, name, within }: IgnoreRule): string {
  const scope = name === "*" ? `every ${type} step` : `${type} ${name}`;
  return within ? `${scope}, only ${kindWords[within] ?? within} in the text` : scope;
}

export const kindWords: Record<string, string> = {
  uuid: "a UUID",
  timestamp: "a timestamp",
  hex: "a hexadecimal id",
  date: "a date",
  id: "an id",
  counter: "a counter",
};

/** Why a proposal is not recommended. Null if it is. */
export function caveat(proposal: Proposal): string | null {
  if (proposal.recommended) return null;
  if (proposal.collisions.length > 0) return "would match different calls";
  if (proposal.unifies === 0) return "these calls also differ in other fields";
  return proposal.kind === "date" ? "the date may be significant" : "the id may identify a record";
}

export function sameRule(a: IgnoreRule, b: IgnoreRule): boolean {
  return a.type === b.type && a.name === b.name && a.pointer === b.pointer && (a.within ?? null) === (b.within ?? null);
}

/** Indices of the proposals to preselect: recommended and not yet accepted. */
export function initialChoice(proposals: readonly Proposal[], currentRules: readonly IgnoreRule[]): number[] {
  return proposals.flatMap((proposal, place) =>
    proposal.recommended && !currentRules.some((rule) => sameRule(rule, proposal.rule)) ? [place] : [],
  );
}
