import type { SessionView, PolicyList, ProfileList } from "@/api/schema";

export interface Choice {
  value: string;
  label: string;
}

type SavedDocument = { digest: string; names: string[] };

/** Profiles to choose from: the replay's own changes and the saved ones. */
export function profileChoices(list: ProfileList | undefined, session: SessionView | undefined): Choice[] {
  const ownDigest = session && session.overrides.overrides.length > 0 ? session.overrides_digest : "";
  return choices(list?.profiles ?? [], ownDigest, "this replay's changes");
}

export function policyChoices(list: PolicyList | undefined, session: SessionView | undefined): Choice[] {
  return choices(list?.policies ?? [], session?.policy_digest ?? "", "this replay's policy");
}

/** One choice per digest. A saved document that equals the replay's own is marked as such. */
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
