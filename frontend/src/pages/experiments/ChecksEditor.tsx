import { ActionIcon, Button, Select, Textarea, TextInput, Tooltip } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { CheckDraft, CheckKind, MatrixDraft } from "./draft";
import classes from "./Experiments.module.css";

const kinds: { value: CheckKind; label: string; placeholder: string }[] = [
  { value: "contains", label: "contains", placeholder: "42.00 EUR" },
  { value: "not_contains", label: "does not contain", placeholder: "sorry" },
  { value: "regex", label: "matches pattern", placeholder: "\\d+\\.\\d{2} EUR" },
  { value: "json_schema", label: "fits JSON schema", placeholder: '{"type": "object", "required": ["answer"]}' },
];

/** What the final answer of every row must be like. */
export function ChecksEditor({
  draft,
  onChange,
}: {
  draft: MatrixDraft;
  onChange: (draft: MatrixDraft) => void;
}): ReactElement {
  const { checks } = draft;
  const set = (at: number, change: Partial<CheckDraft>) =>
    onChange({ ...draft, checks: checks.map((check, index) => (index === at ? { ...check, ...change } : check)) });
  return (
    <section className={`panel ${classes.card}`} aria-label="Checks">
      <div className={classes.cardHead}>
        <h2>Checks</h2>
        <span className="muted grow">on the final answer of every row</span>
      </div>
      {checks.map(({ kind, text }, at) => {
        const placeholder = kinds.find(({ value }) => value === kind)?.placeholder;
        const field = { "aria-label": `What check ${at + 1} looks for`, placeholder, value: text };
        return (
          <div key={at} className={classes.check}>
            <Select
              aria-label={`Kind of check ${at + 1}`}
              data={kinds}
              value={kind}
              allowDeselect={false}
              onChange={(value) => value && set(at, { kind: value })}
            />
            {kind === "json_schema" ? (
              <Textarea
                {...field}
                autosize
                minRows={2}
                maxRows={10}
                className={classes.code}
                onChange={(event) => set(at, { text: event.currentTarget.value })}
              />
            ) : (
              <TextInput {...field} onChange={(event) => set(at, { text: event.currentTarget.value })} />
            )}
            <Tooltip label="Leave out">
              <ActionIcon
                variant="subtle"
                aria-label={`Leave out check ${at + 1}`}
                onClick={() => onChange({ ...draft, checks: checks.filter((_, index) => index !== at) })}
              >
                <IconTrash size={15} />
              </ActionIcon>
            </Tooltip>
          </div>
        );
      })}
      <div className={classes.row}>
        <Button
          variant="default"
          leftSection={<IconPlus size={14} />}
          onClick={() => onChange({ ...draft, checks: [...checks, { kind: "contains", text: "" }] })}
        >
          Add a check
        </Button>
      </div>
    </section>
  );
}
