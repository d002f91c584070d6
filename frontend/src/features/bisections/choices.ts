import type { SessionView, PolicyList, ProfileList } from "@/api/schema";

export interface Choice {
  value: string;
  label: string;
}

type SavedDocument = { digest: string; names: string[] };

/** The changes that every probe may make: those of the replay that is looked at, and what is stored by name. */
export function profileChoices(list: ProfileList | undefined, session: SessionView | undefined): Choice[] {
  const ownDigest = session && session.overrides.overrides.length > 0 ? session.overrides_digest : "";
  return choices(list?.profiles ?? [], ownDigest, "this replay's changes");
}

export function policyChoices(list: PolicyList | undefined, session: SessionView | undefined): Choice[] {
  return choices(list?.policies ?? [], session?.policy_digest ?? "", "this replay's policy");
}

/** By digest, each once; a stored one that is the replay's own says both. */
function choices(documents: SavedDocument[], ownDigest: string, ownLabel: string): Choice[] {
  const savedChoices = documents
    .filter(({ names }) => names.length > 0)
    .map(({ digest, names }) => ({
      value: digest,
      label: digest === ownDigest ? `${names.join(", ")} (${ownLabel})` : names.join(", "),
    }));
  return ownDigest && !savedChoices.some(({ value }) => value === ownDigest)
    ? [{ value: ownDigest, label: ownLabel }, ...savedChoices]
    : savedChoices;
}
