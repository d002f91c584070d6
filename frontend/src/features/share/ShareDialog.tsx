import { Button, Group, Loader } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { IconLink } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import type { ShareView } from "@/api/schema";
import { revoke, sharesQuery, type ShareSubject } from "@/api/shares";
import { useRoleObstacle } from "@/features/runners/engine/useRoleObstacle";
import { ErrorState } from "@/ui/ErrorState";
import { timeAgo, fullTime } from "@/ui/format/numbers";
import { SecretField } from "@/ui/SecretField";
import { isSecondClick } from "@/ui/pointer/secondClick";
import { isComplete, linkState, linkTerms, NEW_LINK, SCOPES } from "./shareLinks";
import { TermsFields } from "./TermsFields";
import { useCreateLinks } from "./useCreateLinks";
import classes from "./ShareDialog.module.css";
import { Dialog } from "@/ui/Dialog";
import { showFailure } from "@/ui/failure/failure";

interface Props {
  subject: ShareSubject;
  onClose: () => void;
}

/** They show no steps to comment on. */
const WITHOUT_COMMENTS: ReadonlySet<ShareSubject["kind"]> = new Set(["tree", "experiment"]);

/** Create and revoke links to a subject. */
export default function ShareDialog({ subject, onClose }: Props): ReactElement {
  const { data } = useQuery(sharesQuery(subject));
  const { title, scope } = SCOPES[subject.kind];
  return (
    <Dialog onClose={onClose} title={title} size="lg">
      <div className={classes.body}>
        <p className="muted">{scope} You can revoke it at any time.</p>
        {data && !data.enabled ? <SharingDisabled /> : <NewLink subject={subject} />}
        <Links subject={subject} />
      </div>
    </Dialog>
  );
}

function SharingDisabled(): ReactElement {
  return (
    <p className="failed" role="alert">
      Sharing is disabled on this server, so links cannot be opened or created. The operator can enable it with
      FORKPOINT_SHARING.
    </p>
  );
}

function NewLink({ subject }: { subject: ShareSubject }): ReactElement {
  const [draft, setDraft] = useState(NEW_LINK);
  const create = useCreateLinks([{ ...subject, title: "" }]);
  const obstacle = useRoleObstacle("Creating links needs");
  return (
    <>
      <TermsFields draft={draft} canComment={!WITHOUT_COMMENTS.has(subject.kind)} onChange={setDraft} />
      <Group justify="flex-end">
        <Button
          data-autofocus
          leftSection={<IconLink size={15} aria-hidden />}
          onClick={(event) => isSecondClick(event) || create.mutate(draft)}
          loading={create.isPending}
          disabled={!isComplete(draft) || obstacle !== null}
          title={obstacle ?? undefined}
        >
          Create and copy link
        </Button>
      </Group>
      {create.data && <SecretField value={create.data} />}
    </>
  );
}

function Links({ subject }: { subject: ShareSubject }): ReactElement | null {
  const { data, dataUpdatedAt, error, refetch } = useQuery(sharesQuery(subject));
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loader size="sm" />;
  if (data.shares.length === 0) return null;
  return (
    <div>
      <h3>Links</h3>
      <ul className={classes.links}>
        {data.shares.map((link) => (
          <LinkRow key={link.id} link={link} now={dataUpdatedAt} />
        ))}
      </ul>
    </div>
  );
}

function LinkRow({ link, now }: { link: ShareView; now: number }): ReactElement {
  const client = useQueryClient();
  const revocation = useMutation({
    mutationFn: () => revoke(link.id),
    onSuccess: () => client.invalidateQueries({ queryKey: ["shares"] }),
    onError: (error) => showFailure("The link was not revoked", error),
  });
  const state = linkState(link, now);
  return (
    <li>
      <span className="grow">
        <span title={fullTime(link.created_at)}>
          created {timeAgo(link.created_at)}
          {link.created_by && link.created_by !== "local" && ` by ${link.created_by}`}
        </span>
        <span className="muted"> · {linkTerms(link)} · </span>
        <span
          className={state.alive ? undefined : "muted"}
          title={link.expires_at ? fullTime(link.expires_at) : undefined}
        >
          {state.words}
        </span>
      </span>
      {state.alive && (
        <Button variant="subtle" color="red" onClick={() => revocation.mutate()} loading={revocation.isPending}>
          Revoke
        </Button>
      )}
    </li>
  );
}
