import { Button, Loader, Modal, Select, TextInput } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import type { ShareView } from "@/api/schema";
import { revoke, share, sharesQuery } from "@/api/diffs";
import { ErrorState } from "@/components/ErrorState";
import { ago, counted, moment } from "@/components/format";
import { EXPIRIES, linkState } from "./shares";
import classes from "./ShareDialog.module.css";

/** Makes links to this report for people without an account, and takes them back. */
export function ShareDialog({ diff, onClose }: { diff: string; onClose: () => void }): ReactElement {
  return (
    <Modal opened onClose={onClose} title="Share this report" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <div className={classes.body}>
        <p className="muted">
          Whoever has the link reads this report and nothing else, without an account. It can be revoked at any time.
        </p>
        <NewLink diff={diff} />
        <Links diff={diff} />
      </div>
    </Modal>
  );
}

function NewLink({ diff }: { diff: string }): ReactElement {
  const [expiry, setExpiry] = useState<string>("604800");
  const client = useQueryClient();
  const create = useMutation({
    mutationFn: () => share(diff, { expires_in_s: expiry === "" ? null : Number(expiry) }),
    onSuccess: () => client.invalidateQueries({ queryKey: sharesQuery(diff).queryKey }),
    onError: (error) => notifications.show({ color: "red", title: "No link was made", message: error.message }),
  });
  return (
    <>
      <div className={classes.form}>
        <Select
          label="The link ends"
          data={EXPIRIES}
          value={expiry}
          allowDeselect={false}
          onChange={(value) => setExpiry(value ?? "")}
        />
        <Button onClick={() => create.mutate()} loading={create.isPending}>
          Create link
        </Button>
      </div>
      {create.data?.url && <Created url={create.data.url} />}
    </>
  );
}

function Created({ url }: { url: string }): ReactElement {
  const clipboard = useClipboard({ timeout: 2000 });
  const whole = new URL(url, window.location.origin).href;
  return (
    <div className={classes.created}>
      <TextInput
        label="Copy it now: it is not shown again"
        value={whole}
        readOnly
        data-autofocus
        onFocus={(event) => event.currentTarget.select()}
        classNames={{ input: classes.url }}
      />
      <Button
        variant="default"
        onClick={() => clipboard.copy(whole)}
        leftSection={clipboard.copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
      >
        {clipboard.copied ? "Copied" : "Copy"}
      </Button>
    </div>
  );
}

function Links({ diff }: { diff: string }): ReactElement | null {
  const { data, dataUpdatedAt, error, refetch } = useQuery(sharesQuery(diff));
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loader size="sm" />;
  if (data.shares.length === 0) return null;
  return (
    <div>
      <h3>Links so far</h3>
      <ul className={classes.links}>
        {data.shares.map((link) => (
          <LinkRow key={link.id} link={link} diff={diff} now={dataUpdatedAt} />
        ))}
      </ul>
    </div>
  );
}

function LinkRow({ link, diff, now }: { link: ShareView; diff: string; now: number }): ReactElement {
  const client = useQueryClient();
  const take = useMutation({
    mutationFn: () => revoke(link.id),
    onSuccess: () => client.invalidateQueries({ queryKey: sharesQuery(diff).queryKey }),
    onError: (error) => notifications.show({ color: "red", title: "The link still works", message: error.message }),
  });
  const state = linkState(link, now);
  return (
    <li>
      <span className="grow">
        <span title={moment(link.created_at)}>made {ago(link.created_at)}</span>
        <span className="muted"> · {counted(link.views, "view")} · </span>
        <span
          className={state.alive ? undefined : "muted"}
          title={link.expires_at ? moment(link.expires_at) : undefined}
        >
          {state.words}
        </span>
      </span>
      {state.alive && (
        <Button variant="subtle" color="red" onClick={() => take.mutate()} loading={take.isPending}>
          Revoke
        </Button>
      )}
    </li>
  );
}
