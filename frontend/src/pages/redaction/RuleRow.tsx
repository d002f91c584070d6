import { ActionIcon, MultiSelect, Select, TextInput, Tooltip } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { FieldRule } from "@/api/schema";
import classes from "./Redaction.module.css";

const ACTIONS: { value: FieldRule["action"]; label: string }[] = [
  { value: "raw", label: "raw: store as it is" },
  { value: "redact", label: "redact: replace each value" },
  { value: "hash", label: "hash: one digest for all" },
  { value: "drop", label: "drop: store nothing" },
];
const TYPES: FieldRule["step_types"] = [
  "model",
  "tool",
  "retrieval",
  "prompt",
  "agent",
  "turn",
  "planner",
  "validator",
  "safety",
  "output",
];

interface Props {
  rule: FieldRule;
  mayEdit: boolean;
  onChange: (rule: FieldRule) => void;
  onRemove: () => void;
}

/** One field rule. */
export function RuleRow({ rule, mayEdit, onChange, onRemove }: Props): ReactElement {
  return (
    <fieldset className={classes.rule} disabled={!mayEdit} aria-label={`Rule ${rule.name}`}>
      <Select
        label="Action"
        data={ACTIONS}
        value={rule.action}
        allowDeselect={false}
        onChange={(action) => onChange({ ...rule, action: action ?? rule.action })}
      />
      <TextInput
        label="Path"
        placeholder="/input/customer/email"
        value={rule.path}
        onChange={(event) => onChange({ ...rule, path: event.currentTarget.value })}
      />
      <MultiSelect
        label="Step types"
        placeholder={rule.step_types.length ? "" : "all"}
        data={TYPES}
        value={rule.step_types}
        onChange={(types) => onChange({ ...rule, step_types: types })}
      />
      <TextInput
        label="Name in markers"
        value={rule.name}
        onChange={(event) => onChange({ ...rule, name: event.currentTarget.value })}
      />
      <TextInput
        label="Reason"
        placeholder="shown where the value was"
        value={rule.reason}
        onChange={(event) => onChange({ ...rule, reason: event.currentTarget.value })}
      />
      <Tooltip label="Remove this rule">
        <ActionIcon className={classes.remove} color="red" aria-label={`Remove ${rule.name}`} onClick={onRemove}>
          <IconTrash size={15} />
        </ActionIcon>
      </Tooltip>
    </fieldset>
  );
}
