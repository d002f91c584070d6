import { Autocomplete, Button, Checkbox, NumberInput, Switch } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type SubmitEvent } from "react";
import { purgePlanQuery, saveRetentionPolicy } from "@/api/retention";
import { facetsQuery } from "@/api/runs/runs";
import type { RetentionPolicyView } from "@/api/schema";
import { draftOf, draftProblem, NEW_DRAFT, policiesWith, scopeWords, termsOf, type Draft } from "./policies";
import { planWords } from "./plan";
import classes from "./Retention.module.css";
import { Dialog } from "@/ui/Dialog";

interface Props {
  policies: readonly RetentionPolicyView[];
  /** Null: a new policy. */
  current: RetentionPolicyView | null;
  onClose: () => void;
}

/** Edit a policy. What a purge would delete with it is shown before it is saved. */
export function PolicyDialog({ policies, current, onClose }: Props): ReactElement {
  const client = useQueryClient();
  const [draft, setDraft] = useState(current ? draftOf(current) : NEW_DRAFT);
  const problem = draftProblem(draft, policies, current);
  const save = useMutation({
    mutationFn: () => saveRetentionPolicy(termsOf(draft)),
    onSuccess: () => {
      onClose();
      return client.invalidateQueries({ queryKey: ["retention"] });
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (problem === null) save.mutate();
  };
  return (
    <Dialog onClose={onClose} title={current ? `Policy for ${scopeWords(current)}` : "New policy"}>
      <form className={classes.form} onSubmit={submit}>
        {!current && <ScopeFields draft={draft} onChange={setDraft} />}
        <TermFields draft={draft} onChange={setDraft} isFirst={current !== null} />
        {problem === null && <Preview draft={draft} policies={policies} />}
        {(save.error ?? problem) && (
          <p className="failed" role="alert">
            {save.error?.message ?? problem}
          </p>
        )}
        <div className={classes.answers}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending} disabled={problem !== null}>
            Save policy
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface FieldProps {
  draft: Draft;
  onChange: (draft: Draft) => void;
}

function ScopeFields({ draft, onChange }: FieldProps): ReactElement {
  const { data: facets } = useQuery(facetsQuery);
  return (
    <div className={classes.pair}>
      <Autocomplete
        label="App"
        placeholder="all apps"
        data={(facets?.apps ?? []).map(({ value }) => value)}
        value={draft.app}
        maxLength={120}
        data-autofocus
        openOnFocus={false}
        onChange={(app) => onChange({ ...draft, app })}
      />
      <Autocomplete
        label="Tag"
        placeholder="with or without tags"
        data={(facets?.tags ?? []).map(({ value }) => value)}
        value={draft.tag}
        maxLength={100}
        onChange={(tag) => onChange({ ...draft, tag })}
      />
    </div>
  );
}

function TermFields({ draft, onChange, isFirst }: FieldProps & { isFirst: boolean }): ReactElement {
  const isForever = draft.days === "";
  return (
    <>
      <div className={classes.days}>
        <NumberInput
          label="Days since the run arrived"
          value={draft.days}
          min={1}
          max={36_500}
          allowDecimal={false}
          disabled={isForever}
          placeholder="forever"
          data-autofocus={isFirst || undefined}
          onChange={(days) => onChange({ ...draft, days: days === "" ? 0 : days })}
        />
        <Checkbox
          label="Keep forever"
          checked={isForever}
          onChange={(event) => onChange({ ...draft, days: event.currentTarget.checked ? "" : NEW_DRAFT.days })}
        />
      </div>
      <Switch
        label="Keep pinned runs"
        checked={draft.keepPinned}
        onChange={(event) => onChange({ ...draft, keepPinned: event.currentTarget.checked })}
      />
      <Switch
        label="Legal hold"
        description="These runs cannot be deleted, whatever other policies state."
        checked={draft.legalHold}
        onChange={(event) => onChange({ ...draft, legalHold: event.currentTarget.checked })}
      />
    </>
  );
}

function Preview({ draft, policies }: { draft: Draft; policies: readonly RetentionPolicyView[] }): ReactElement {
  const [terms] = useDebouncedValue(policiesWith(draft, policies), 300);
  const { data, error } = useQuery({ ...purgePlanQuery(terms), placeholderData: keepPreviousData });
  return (
    <p className={classes.preview} role="status">
      {error ? error.message : data ? `With this policy, a purge ${planWords(data)}` : "Counting…"}
    </p>
  );
}
