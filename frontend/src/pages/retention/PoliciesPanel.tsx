import { ActionIcon, Button } from "@mantine/core";
import { IconPencil, IconPlus, IconTrash } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { removeRetentionPolicy, saveRetentionPolicy } from "@/api/retention";
import type { RetentionPolicyList, RetentionPolicyView } from "@/api/schema";
import { fullTime, timeAgo } from "@/ui/format/numbers";
import list from "@/ui/ListPage.module.css";
import { offerUndo } from "@/ui/offerUndo";
import { PolicyDialog } from "./PolicyDialog";
import { daysWords, draftOf, scopeWords, termsOf } from "./policies";
import classes from "./Retention.module.css";
import { PanelHead } from "@/ui/Page";
import { showFailure } from "@/ui/failure/failure";

interface Props {
  list: RetentionPolicyList;
  mayEdit: boolean;
}

/** The policies in force. */
export function PoliciesPanel({ list: { policies }, mayEdit }: Props): ReactElement {
  const [dialogFor, setDialogFor] = useState<RetentionPolicyView | "new" | null>(null);
  return (
    <section className="panel" aria-labelledby="policies">
      <PanelHead>
        <h2 id="policies">Policies</h2>
        <span className="muted">The most specific policy decides: app and tag, app, tag, all runs.</span>
        <Button
          variant={policies.length === 0 ? "filled" : "default"}
          leftSection={<IconPlus size={14} />}
          disabled={!mayEdit}
          title={mayEdit ? undefined : "Needs the admin role"}
          onClick={() => setDialogFor("new")}
        >
          Add a policy
        </Button>
      </PanelHead>
      {policies.length === 0 ? (
        <p className={classes.none}>No policies: all runs are kept forever.</p>
      ) : (
        <PolicyTable policies={policies} mayEdit={mayEdit} onEdit={setDialogFor} />
      )}
      {dialogFor !== null && (
        <PolicyDialog
          policies={policies}
          current={dialogFor === "new" ? null : dialogFor}
          onClose={() => setDialogFor(null)}
        />
      )}
    </section>
  );
}

interface TableProps {
  policies: readonly RetentionPolicyView[];
  mayEdit: boolean;
  onEdit: (policy: RetentionPolicyView) => void;
}

function PolicyTable({ policies, mayEdit, onEdit }: TableProps): ReactElement {
  const remove = useRemoval();
  return (
    <table className={`${list.table} ${list.stacking}`}>
      <thead>
        <tr>
          <th scope="col">Runs</th>
          <th scope="col">Kept for</th>
          <th scope="col">Pinned runs</th>
          <th scope="col">Legal hold</th>
          <th scope="col">Changed</th>
          <th scope="col" className={list.figure}>
            {mayEdit ? "Actions" : ""}
          </th>
        </tr>
      </thead>
      <tbody>
        {policies.map((policy) => (
          <tr key={`${policy.app} ${policy.tag}`}>
            <th scope="row">
              <span className={list.name}>{scopeWords(policy)}</span>
            </th>
            <td data-label="Kept for">{daysWords(policy.days)}</td>
            <td data-label="Pinned runs">{policy.keep_pinned ? "kept" : "deleted, too"}</td>
            <td data-label="Legal hold">{policy.legal_hold ? <b>on hold</b> : <span className="muted">no</span>}</td>
            <td data-label="Changed" title={fullTime(policy.at)}>
              {timeAgo(policy.at)} <span className="muted">by {policy.by || "the server"}</span>
            </td>
            <td data-label="" className={list.figure}>
              {mayEdit && (
                <>
                  <ActionIcon aria-label={`Edit the policy for ${scopeWords(policy)}`} onClick={() => onEdit(policy)}>
                    <IconPencil size={15} />
                  </ActionIcon>
                  <ActionIcon
                    aria-label={`Delete the policy for ${scopeWords(policy)}`}
                    onClick={() => remove.mutate(policy)}
                  >
                    <IconTrash size={15} />
                  </ActionIcon>
                </>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Remove a policy, with an offer to put it back. */
function useRemoval() {
  const client = useQueryClient();
  const reload = () => client.invalidateQueries({ queryKey: ["retention"] });
  return useMutation({
    mutationFn: removeRetentionPolicy,
    onSuccess: (_, policy: RetentionPolicyView) => {
      offerUndo(`The policy for ${scopeWords(policy)} was deleted.`, "The policy was not restored", () =>
        saveRetentionPolicy(termsOf(draftOf(policy))).finally(() => void reload()),
      );
      return reload();
    },
    onError: (error) => showFailure("The policy was not changed", error),
  });
}
