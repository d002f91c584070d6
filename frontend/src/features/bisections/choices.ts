import type { SessionView, PolicyList, ProfileList } from "@/api/schema";

export interface Choice {
  value: string;
  label: string;
}

type Named = { digest: string; names: string[] };

/** The changes that every probe may make: those of the replay that is looked at, and what is stored by name. */
export function profileChoices(stored: ProfileList | undefined, session: SessionView | undefined): Choice[] {
  const own = session && session.overrides.overrides.length > 0 ? session.overrides_digest : "";
  return choices(stored?.profiles ?? [], own, "the changes of this replay");
}

export function policyChoices(stored: PolicyList | undefined, session: SessionView | undefined): Choice[] {
  return choices(stored?.policies ?? [], session?.policy_digest ?? "", "the policy of this replay");
}

/** By digest, each once; a stored one that is the replay's own says both. */
function choices(stored: Named[], own: string, called: string): Choice[] {
  const named = stored
    .filter(({ names }) => names.length > 0)
    .map(({ digest, names }) => ({
      value: digest,
      label: digest === own ? `${names.join(", ")} (${called})` : names.join(", "),
    }));
  return own && !named.some(({ value }) => value === own) ? [{ value: own, label: called }, ...named] : named;
}
