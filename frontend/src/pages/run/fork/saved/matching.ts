// Matching a draft with saved profiles and policies, and validating names. The server validates names again.
import type { StoredPolicy, StoredProfile } from "@/api/schema";
import { parseOverrides, type Draft, type SparseOverride } from "@/domain/overrides/draft";
import type { SparsePolicy } from "@/domain/overrides/policy";

/** The saved profile with exactly the draft's changes. */
export function matchingProfile(draft: Draft, profiles: readonly StoredProfile[]): StoredProfile | undefined {
  const canonical = canonicalJson({ overrides: draft.overrides });
  return draft.overrides.length > 0 ? profiles.find(({ profile }) => canonicalJson(profile) === canonical) : undefined;
}

/** The saved policy that equals the draft's. */
export function matchingPolicy(draft: Draft, policies: readonly StoredPolicy[]): StoredPolicy | undefined {
  const canonical = canonicalJson(draft.policy);
  return Object.keys(draft.policy).length > 0
    ? policies.find(({ policy }) => canonicalJson(policy) === canonical)
    : undefined;
}

export function overridesOf(profile: StoredProfile): SparseOverride[] {
  const result = parseOverrides(JSON.stringify(profile.profile));
  return "overrides" in result ? result.overrides : [];
}

export function policyOfSaved(policy: StoredPolicy): SparsePolicy {
  return policy.policy;
}

/** Why a name is invalid. Null if it is valid. */
export function nameProblem(name: string): string | null {
  if (name === "") return null;
  if (!/^[a-z0-9][a-z0-9._-]{0,79}$/.test(name)) return "Use lower-case letters, digits, dots and dashes.";
  return /^[0-9a-f]{8,64}$/.test(name) ? "This looks like a digest: add another letter or a dash." : null;
}

/** Canonical text of a value, independent of key order. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
