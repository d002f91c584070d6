import type { FieldRule, RedactionPolicyRequest, RedactionPolicyView } from "@/api/schema";
import { lookup } from "@/ui/format/lookup";

/** A policy that is being edited. */
export type Draft = Pick<RedactionPolicyRequest, "secrets" | "personal_data" | "rules">;

export const EMPTY_DRAFT: Draft = { secrets: null, personal_data: null, rules: [] };

/** The draft that equals the current version of a policy. */
export function draftOf(policy: RedactionPolicyView | undefined): Draft {
  if (!policy) return EMPTY_DRAFT;
  return { secrets: policy.secrets, personal_data: policy.personal_data, rules: policy.rules };
}

/** A rule for a field that does not exist yet, with a name that no other rule has. */
export function newRule(rules: readonly FieldRule[]): FieldRule {
  let number = rules.length + 1;
  while (rules.some((rule) => rule.name === `rule-${number}`)) number += 1;
  return { name: `rule-${number}`, action: "redact", path: "/input/", step_types: [], reason: "" };
}

export function isEqualDraft(left: Draft, right: Draft): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** Parse a sample: JSON, or else the text itself. */
export function readSample(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Kinds of personal data that are abbreviations or contain one. */
const ABBREVIATIONS: Record<string, string> = { iban: "IBAN", "ip-address": "IP address", "us-ssn": "US SSN" };

export function personalDataWords(kind: string): string {
  return lookup(ABBREVIATIONS, kind) ?? kind.replaceAll("-", " ");
}

/** The path under which a model's messages show what a rule denies in outputs; empty if a rule denies it there, too. */
export function messagesPath(rules: readonly FieldRule[]): string {
  const paths = rules.filter(({ action }) => action !== "raw").map(({ path }) => path);
  const inMessages = (path: string) => path.replace(/^\/output(?=\/)/, "/input/messages/*/content");
  const hasCover = paths.some((path) => path.startsWith("/input/messages") || path.startsWith("/input/**"));
  const output = paths.find((path) => path !== inMessages(path));
  return output === undefined || hasCover ? "" : inMessages(output);
}
