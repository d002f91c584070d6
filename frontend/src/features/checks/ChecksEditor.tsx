import { ActionIcon, Autocomplete, Button, Select, Textarea, TextInput, Tooltip } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { CheckDraft, CheckKind } from "@/domain/checks/draft";
import classes from "./ChecksEditor.module.css";

const KINDS: { value: CheckKind; label: string; placeholder: string }[] = [
  { value: "contains", label: "answer contains", placeholder: "42.00 EUR" },
  { value: "not_contains", label: "answer does not contain", placeholder: "sorry" },
  { value: "regex", label: "answer matches pattern", placeholder: "\\d+\\.\\d{2} EUR" },
  {
    value: "json_schema",
    label: "answer matches JSON schema",
    placeholder: '{"type": "object", "required": ["answer"]}',
  },
  { value: "tool_called", label: "tool was called", placeholder: "refund_order" },
  { value: "tool_not_called", label: "tool was not called", placeholder: "cancel_*" },
  { value: "status", label: "run status is", placeholder: "" },
];

const STATUSES = [
  { value: "completed", label: "completed" },
  { value: "failed", label: "failed" },
];

/** Edit the checks that a run's outcome must pass. With `names`, each check may stand in for a judgement. */
export function ChecksEditor(props: {
  checks: readonly CheckDraft[];
  onChange: (checks: CheckDraft[]) => void;
  names?: string[] | undefined;
}): ReactElement {
  const { checks, onChange, names } = props;
  return (
    <div className={classes.checks}>
      {checks.map((check, position) => (
        <Row
          key={position}
          check={check}
          number={position + 1}
          names={names}
          onChange={(changedCheck) => onChange(checks.map((item, index) => (index === position ? changedCheck : item)))}
          onRemove={() => onChange(checks.filter((_, index) => index !== position))}
        />
      ))}
      {checks.some(({ text }) => !text.trim()) && <p className="muted">A check without a value is left out.</p>}
      <div>
        <Button
          variant="default"
          leftSection={<IconPlus size={14} />}
          onClick={() => onChange([...checks, { kind: "contains", text: "" }])}
        >
          Add a check
        </Button>
      </div>
    </div>
  );
}

function Row(props: {
  check: CheckDraft;
  number: number;
  names: string[] | undefined;
  onChange: (check: CheckDraft) => void;
  onRemove: () => void;
}): ReactElement {
  const { check, number, names, onChange, onRemove } = props;
  // A status is one of two values, so text of another kind of check does not carry over.
  const changeKind = (kind: CheckKind) =>
    onChange({ ...check, kind, text: kind === "status" ? "completed" : check.kind === "status" ? "" : check.text });
  return (
    <div className={classes.check} data-named={names !== undefined}>
      {names && (
        <Autocomplete
          aria-label={`Judgement of check ${number}`}
          placeholder="Judgement"
          data={names}
          value={check.name ?? ""}
          onChange={(name) => onChange({ ...check, name })}
        />
      )}
      <Select
        aria-label={`Kind of check ${number}`}
        data={KINDS}
        value={check.kind}
        allowDeselect={false}
        onChange={(value) => value && changeKind(value)}
      />
      <CheckValue check={check} number={number} onChange={(text) => onChange({ ...check, text })} />
      <Tooltip label="Remove">
        <ActionIcon variant="subtle" aria-label={`Remove check ${number}`} onClick={onRemove}>
          <IconTrash size={15} />
        </ActionIcon>
      </Tooltip>
    </div>
  );
}

function CheckValue(props: { check: CheckDraft; number: number; onChange: (text: string) => void }): ReactElement {
  const { check, number, onChange } = props;
  const field = {
    "aria-label": `Value of check ${number}`,
    placeholder: KINDS.find(({ value }) => value === check.kind)?.placeholder,
    value: check.text,
    className: classes.value,
  };
  if (check.kind === "status") {
    return (
      <Select {...field} data={STATUSES} allowDeselect={false} onChange={(value) => onChange(value ?? "completed")} />
    );
  }
  if (check.kind === "json_schema") {
    return (
      <Textarea
        {...field}
        autosize
        minRows={2}
        maxRows={10}
        className={`${classes.value} ${classes.code}`}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  return <TextInput {...field} onChange={(event) => onChange(event.currentTarget.value)} />;
}
