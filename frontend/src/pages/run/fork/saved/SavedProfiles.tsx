import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { policiesQuery, profilesQuery, savePolicy, saveProfile } from "@/api/replays/savedProfiles";
import type { SavePolicy, SaveProfile } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import type { Draft } from "@/domain/overrides/draft";
import { overridesOf, policyOfSaved, matchingPolicy, matchingProfile } from "./matching";
import { SavedMenu } from "./SavedMenu";
import { describeChanges } from "@/domain/overrides/wording";

interface Props {
  draft: Draft;
  onChange: (draft: Draft) => void;
}

/** Saved override profiles with their changes. */
export function SavedProfiles({ draft, onChange }: Props): ReactElement {
  const profiles = useQuery(profilesQuery).data?.profiles ?? [];
  return (
    <SavedMenu
      noun="profile"
      current={matchingProfile(draft, profiles)?.names[0]}
      saveBlocker={draft.overrides.length === 0 ? "No changes yet" : null}
      items={profiles.map((profile) => {
        const overrides = overridesOf(profile);
        return {
          key: profile.digest,
          name: profile.names.join(", "),
          summary: `${describeChanges(overrides)} · ${usageWords(profile.used_by)}`,
          load: () => onChange({ ...draft, overrides }),
        };
      })}
      // The schema lists every field. Absent fields stay absent.
      onSave={(name) => saveProfile({ name, profile: { overrides: draft.overrides } } as SaveProfile)}
    />
  );
}

/** Saved policies with their settings. */
export function SavedPolicies({ draft, onChange }: Props): ReactElement {
  const policies = useQuery(policiesQuery).data?.policies ?? [];
  return (
    <SavedMenu
      noun="policy"
      current={matchingPolicy(draft, policies)?.names[0]}
      saveBlocker={Object.keys(draft.policy).length === 0 ? "The policy is the default" : null}
      items={policies.map((policy) => ({
        key: policy.digest,
        name: policy.names.join(", "),
        summary: `${JSON.stringify(policy.policy)} · ${usageWords(policy.used_by)}`,
        load: () => onChange({ ...draft, policy: policyOfSaved(policy) }),
      }))}
      onSave={(name) => savePolicy({ name, policy: draft.policy } as SavePolicy)}
    />
  );
}

function usageWords(count: number): string {
  return count === 0 ? "not used yet" : `used by ${pluralize(count, "replay")}`;
}
