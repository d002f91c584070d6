import { Button, Checkbox, SegmentedControl } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { redactionQuery, saveRedactionPolicy } from "@/api/redaction";
import type { FieldRule, RedactionPolicyList } from "@/api/schema";
import { Failure } from "./Failure";
import { isEqualDraft, messagesPath, newRule, personalDataWords, type Draft } from "./draft";
import classes from "./Redaction.module.css";
import { RuleRow } from "./RuleRow";
import { TryIt } from "./TryIt";
import { PanelHead } from "@/ui/Page";

interface Props {
  app: string;
  current: Draft;
  list: RedactionPolicyList;
  mayEdit: boolean;
}

/** The policy of one app: detectors, field rules, and a box to try them. */
export function PolicyEditor({ app, current, list, mayEdit }: Props): ReactElement {
  const client = useQueryClient();
  const [draft, setDraft] = useState(current);
  const save = useMutation({
    mutationFn: () => saveRedactionPolicy({ app, ...draft }),
    onSuccess: () => client.invalidateQueries({ queryKey: redactionQuery.queryKey }),
  });
  const setRules = (rules: FieldRule[]) => setDraft({ ...draft, rules });
  const isChanged = !isEqualDraft(draft, current);
  return (
    <>
      <section className="panel" aria-labelledby="detectors">
        <PanelHead>
          <h2 id="detectors">Detectors</h2>
          <span className="muted">They check all text, wherever it is.</span>
        </PanelHead>
        <fieldset className={classes.form} disabled={!mayEdit}>
          <Secrets app={app} draft={draft} setDraft={setDraft} kinds={list.secrets.length} />
          <PersonalDataKinds draft={draft} setDraft={setDraft} list={list} mayEdit={mayEdit} />
        </fieldset>
      </section>
      <section className="panel" aria-labelledby="rules">
        <PanelHead>
          <h2 id="rules">Field rules</h2>
          <span className="muted">For fields by their path. A rule that denies a field beats one that permits it.</span>
          <Button
            variant="default"
            leftSection={<IconPlus size={14} />}
            disabled={!mayEdit}
            onClick={() => setRules([...draft.rules, newRule(draft.rules)])}
          >
            Add rule
          </Button>
        </PanelHead>
        {draft.rules.length === 0 && <p className={classes.none}>No field rules: only detectors replace values.</p>}
        {draft.rules.map((rule, index) => (
          <RuleRow
            key={index}
            rule={rule}
            mayEdit={mayEdit}
            onChange={(next) => setRules(draft.rules.with(index, next))}
            onRemove={() => setRules(draft.rules.toSpliced(index, 1))}
          />
        ))}
        {messagesPath(draft.rules) && (
          <p className={classes.none}>
            A model is shown what its tools return. To replace a field there, too, add a rule for{" "}
            <code>{messagesPath(draft.rules)}</code>.
          </p>
        )}
        <footer className={classes.foot}>
          {save.error && <Failure error={save.error} />}
          {!mayEdit && <span className="muted">Only admins can change policies.</span>}
          <Button loading={save.isPending} disabled={!mayEdit || !isChanged} onClick={() => save.mutate()}>
            Save as the next version
          </Button>
        </footer>
      </section>
      {mayEdit && <TryIt app={app} draft={draft} />}
    </>
  );
}

interface PartProps {
  draft: Draft;
  setDraft: (draft: Draft) => void;
}

function Secrets({ app, draft, setDraft, kinds }: PartProps & { app: string; kinds: number }): ReactElement {
  const defaultLabel = app === "" ? "Default (on)" : "As for all apps";
  return (
    <div className={classes.field}>
      <b>Secrets</b>
      <span className="muted">Keys, tokens and passwords: {kinds} kinds.</span>
      <SegmentedControl
        aria-label="Secrets"
        value={String(draft.secrets)}
        onChange={(value) => setDraft({ ...draft, secrets: value === "null" ? null : value === "true" })}
        data={[
          { value: "null", label: defaultLabel },
          { value: "true", label: "On" },
          { value: "false", label: "Off" },
        ]}
      />
    </div>
  );
}

function PersonalDataKinds(props: PartProps & { list: RedactionPolicyList; mayEdit: boolean }): ReactElement {
  const { draft, setDraft, list, mayEdit } = props;
  return (
    <div className={classes.field}>
      <b>Personal data</b>
      <span className="muted">
        {list.personal_data_available
          ? "Off unless you choose kinds."
          : "Not installed on this server: pip install 'forkpoint-server[pii]'."}
      </span>
      <Checkbox.Group
        aria-label="Personal data"
        value={draft.personal_data ?? []}
        onChange={(kinds) => setDraft({ ...draft, personal_data: kinds.length ? kinds : null })}
      >
        <div className={classes.kinds}>
          {list.personal_data.map((kind) => (
            <Checkbox
              key={kind}
              value={kind}
              label={personalDataWords(kind)}
              disabled={!mayEdit || !list.personal_data_available}
            />
          ))}
        </div>
      </Checkbox.Group>
    </div>
  );
}
