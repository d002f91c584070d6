import { Button, Loader, Modal, NumberInput, Select, TagsInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { IconLink } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import type { ShareView } from "@/api/schema";
import { revoke, share, sharesQuery } from "@/api/diffs/diffs";
import { ErrorState } from "@/ui/ErrorState";
import { timeAgo, fullTime } from "@/ui/format/numbers";
import { SecretField } from "@/ui/SecretField";
import { AUDIENCES, EXPIRIES, linkState, linkTerms } from "./shareLinks";
import classes from "./ShareDialog.module.css";

/** Create and revoke links to this report. */
export function ShareDialog({ diff, onClose }: { diff: string; onClose: () => void }): ReactElement {
  const { data } = useQuery(sharesQuery(diff));
  return (
    <Modal opened onClose={onClose} title="Share this report" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <div className={classes.body}>
        <p className="muted">A link opens only this report. You can revoke it at any time.</p>
        {data && !data.enabled ? (
          <p className="failed" role="alert">
            Sharing is disabled on this server, so links cannot be opened or created. The operator can enable it with
            FORKPOINT_SHARING.
          </p>
        ) : (
          <NewLink diff={diff} />
        )}
        <Links diff={diff} />
      </div>
    </Modal>
  );
}

function NewLink({ diff }: { diff: string }): ReactElement {
  const [expiry, setExpiry] = useState<string>("604800");
  const [audience, setAudience] = useState<ShareView["audience"]>("anyone");
  const [people, setPeople] = useState<string[]>([]);
  const [views, setViews] = useState<number | null>(null);
  const client = useQueryClient();
  const create = useMutation({
    mutationFn: () =>
      share(diff, {
        expires_in_s: expiry === "" ? null : Number(expiry),
        audience,
        people: audience === "people" ? people : [],
        max_views: views,
      }),
    onSuccess: async (link) => {
      if (link.url) void copy(addressOf(link.url));
      await client.invalidateQueries({ queryKey: sharesQuery(diff).queryKey });
    },
    onError: (error) => notifications.show({ color: "red", title: "The link was not created", message: error.message }),
  });
  const hasNoPeople = audience === "people" && people.length === 0;
  return (
    <>
      <div className={classes.form}>
        <Select
          label="Who can open it"
          data={AUDIENCES}
          value={audience}
          allowDeselect={false}
          onChange={(value) => setAudience(value ?? "anyone")}
        />
        <Select
          label="Expires"
          data={EXPIRIES}
          value={expiry}
          allowDeselect={false}
          onChange={(value) => setExpiry(value ?? "")}
        />
        <NumberInput
          label="Max views"
          placeholder="no limit"
          value={views ?? ""}
          min={1}
          max={1_000_000}
          allowDecimal={false}
          onChange={(value) => setViews(value === "" ? null : Number(value))}
        />
        {audience === "people" && (
          <TagsInput
            className={classes.people}
            label="Names"
            description="The names of their API tokens"
            placeholder={people.length > 0 ? "" : "Ada, Eve"}
            value={people}
            maxTags={100}
            onChange={setPeople}
          />
        )}
      </div>
      <Button
        fullWidth
        leftSection={<IconLink size={15} aria-hidden />}
        onClick={() => create.mutate()}
        loading={create.isPending}
        disabled={hasNoPeople}
      >
        Create and copy link
      </Button>
      {create.data?.url && <SecretField value={addressOf(create.data.url)} />}
    </>
  );
}

function addressOf(path: string): string {
  return new URL(path, window.location.origin).href;
}

/** Copy a new link. Without the permission to, the field below still shows it. */
async function copy(address: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(address);
    notifications.show({ message: "Link copied" });
  } catch {
    notifications.show({ message: "Link created. Copy it from the field below." });
  }
}

function Links({ diff }: { diff: string }): ReactElement | null {
  const { data, dataUpdatedAt, error, refetch } = useQuery(sharesQuery(diff));
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loader size="sm" />;
  if (data.shares.length === 0) return null;
  return (
    <div>
      <h3>Links</h3>
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
  const revocation = useMutation({
    mutationFn: () => revoke(link.id),
    onSuccess: () => client.invalidateQueries({ queryKey: sharesQuery(diff).queryKey }),
    onError: (error) => notifications.show({ color: "red", title: "The link was not revoked", message: error.message }),
  });
  const state = linkState(link, now);
  return (
    <li>
      <span className="grow">
        <span title={fullTime(link.created_at)}>created {timeAgo(link.created_at)}</span>
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
