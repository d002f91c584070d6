import { NumberInput, Select, Switch, TagsInput } from "@mantine/core";
import type { ReactElement } from "react";
import { AUDIENCES, EXPIRIES, type LinkDraft } from "./shareLinks";
import classes from "./ShareDialog.module.css";

interface Props {
  draft: LinkDraft;
  /** False for subjects without comments. */
  canComment?: boolean;
  onChange: (draft: LinkDraft) => void;
}

/** Who may open a new link, until when and how often. */
export function TermsFields({ draft, canComment = true, onChange }: Props): ReactElement {
  const { audience, people } = draft;
  return (
    <div className={classes.form}>
      <Select
        label="Who can open it"
        data={AUDIENCES}
        value={audience}
        allowDeselect={false}
        onChange={(value) => onChange({ ...draft, audience: value ?? "anyone" })}
      />
      <Select
        label="Expires"
        data={EXPIRIES}
        value={draft.expiry}
        allowDeselect={false}
        onChange={(value) => onChange({ ...draft, expiry: value ?? "" })}
      />
      <NumberInput
        label="Max views"
        placeholder="no limit"
        value={draft.views ?? ""}
        min={1}
        max={1_000_000}
        allowDecimal={false}
        onChange={(value) => onChange({ ...draft, views: value === "" ? null : Number(value) })}
      />
      {audience === "people" && (
        <TagsInput
          className={classes.people}
          label="Names"
          description="The names of their API tokens"
          placeholder={people.length > 0 ? "" : "Ada, Eve"}
          value={people}
          maxTags={100}
          onChange={(names) => onChange({ ...draft, people: names })}
        />
      )}
      {canComment && (
        <Switch
          className={classes.people}
          size="sm"
          label="Visitors can comment"
          description="They also see all comments that are already there."
          checked={draft.allowsComments}
          onChange={(event) => onChange({ ...draft, allowsComments: event.currentTarget.checked })}
        />
      )}
    </div>
  );
}
