import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { policiesQuery, profilesQuery, savePolicy, saveProfile } from "@/api/replays/savedProfiles";
import type { SavePolicy, SaveProfile } from "@/api/schema";
import { counted } from "@/ui/format/numbers";
import type { Draft } from "@/domain/overrides/draft";
import { overridesOf, policyIn, policyOf, profileOf } from "./matching";
import { StoredMenu } from "./SavedMenu";
import { changesInWords } from "@/domain/overrides/wording";

interface Props {
  draft: Draft;
  onChange: (draft: Draft) => void;
}

/** Stored override profiles: by name, with what each changes. */
export function StoredProfiles({ draft, onChange }: Props): ReactElement {
  const stored = useQuery(profilesQuery).data?.profiles ?? [];
  return (
    <StoredMenu
      what="profile"
      current={profileOf(draft, stored)?.names[0]}
      nothing={draft.overrides.length === 0 ? "Nothing is changed yet" : null}
      items={stored.map((profile) => {
        const overrides = overridesOf(profile);
        return {
          key: profile.digest,
          name: profile.names.join(", "),
          says: `${changesInWords(overrides)} · ${used(profile.used_by)}`,
          load: () => onChange({ ...draft, overrides }),
        };
      })}
      // The schema lists every field; absent ones stay absent.
      onSave={(name) => saveProfile({ name, profile: { overrides: draft.overrides } } as SaveProfile)}
    />
  );
}

/** Stored policies: by name, with what each says. */
export function StoredPolicies({ draft, onChange }: Props): ReactElement {
  const stored = useQuery(policiesQuery).data?.policies ?? [];
  return (
    <StoredMenu
      what="policy"
      current={policyOf(draft, stored)?.names[0]}
      nothing={Object.keys(draft.policy).length === 0 ? "The policy is the usual one" : null}
      items={stored.map((policy) => ({
        key: policy.digest,
        name: policy.names.join(", "),
        says: `${JSON.stringify(policy.policy)} · ${used(policy.used_by)}`,
        load: () => onChange({ ...draft, policy: policyIn(policy) }),
      }))}
      onSave={(name) => savePolicy({ name, policy: draft.policy } as SavePolicy)}
    />
  );
}

function used(count: number): string {
  return count === 0 ? "not used yet" : `used by ${counted(count, "replay")}`;
}
