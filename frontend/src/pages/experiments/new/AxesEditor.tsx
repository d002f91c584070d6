import { ActionIcon, Button, CloseButton, TagsInput, Textarea, TextInput, Tooltip } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { axisKinds, axisTitle, valueDraft, RECORDED_VALUE, type AxisDraft, type MatrixDraft } from "./matrixDraft";
import classes from "../Experiments.module.css";

interface Props {
  draft: MatrixDraft;
  onChange: (draft: MatrixDraft) => void;
  models: readonly string[];
  /** The recorded system prompt, as the start of a variant. */
  system: string;
}

const hints: Record<AxisDraft["kind"], string> = {
  model: "Enter any model name. “provider: model” also selects the provider.",
  temperature: "From 0 to 2.",
  prompt: "For every model step from the fork on.",
  overrides: "Override lists as JSON, as shown in the fork panel.",
};

/** The axes of the matrix. Every combination of their values becomes a row. */
export function AxesEditor({ draft, onChange, models, system }: Props): ReactElement {
  const replaceAxis = (position: number, axis: AxisDraft | null) =>
    onChange({
      ...draft,
      axes: draft.axes.flatMap((item, index) => (index === position ? (axis ? [axis] : []) : [item])),
    });
  const unusedKinds = axisKinds.filter((kind) =>
    kind === "overrides"
      ? draft.axes.every((axis) => axis.kind !== kind)
      : !draft.axes.some((axis) => axis.kind === kind),
  );
  return (
    <>
      {draft.axes.map((axis, position) => (
        <section key={axis.kind} className={`panel ${classes.card}`} aria-label={axisTitle[axis.kind]}>
          <div className={classes.cardHead}>
            <h2>{axisTitle[axis.kind]}</h2>
            <span className="muted grow ellipsis">{hints[axis.kind]}</span>
            <CloseButton
              size="sm"
              aria-label={`Remove: ${axisTitle[axis.kind]}`}
              onClick={() => replaceAxis(position, null)}
            />
          </div>
          {axis.kind === "model" || axis.kind === "temperature" ? (
            <TagsInput
              aria-label={axisTitle[axis.kind]}
              data={axis.kind === "model" ? [...models] : ["0", "0.5", "1", RECORDED_VALUE]}
              value={axis.values.map(({ name }) => name)}
              onChange={(names) => replaceAxis(position, { ...axis, values: names.map(valueDraft) })}
              placeholder={axis.values.length === 0 ? "As recorded" : undefined}
            />
          ) : (
            <Texts axis={axis} system={system} onChange={(values) => replaceAxis(position, { ...axis, values })} />
          )}
        </section>
      ))}
      {unusedKinds.length > 0 && (
        <div className={classes.row}>
          {unusedKinds.map((kind) => (
            <Button
              key={kind}
              variant="default"
              leftSection={<IconPlus size={14} />}
              onClick={() =>
                onChange({ ...draft, axes: [...draft.axes, { kind, values: [valueDraft(RECORDED_VALUE)] }] })
              }
            >
              {axisTitle[kind]}
            </Button>
          ))}
        </div>
      )}
    </>
  );
}

/** Named text values of an axis. */
function Texts(props: {
  axis: AxisDraft;
  system: string;
  onChange: (values: AxisDraft["values"]) => void;
}): ReactElement {
  const { axis, system, onChange } = props;
  const isPrompt = axis.kind === "prompt";
  const valueNoun = isPrompt ? "prompt" : "variant";
  const changeValue = (position: number, change: Partial<AxisDraft["values"][number]>) =>
    onChange(axis.values.map((value, index) => (index === position ? { ...value, ...change } : value)));
  const nextName = () => `${valueNoun} ${axis.values.length + 1}`;
  const hasRecorded = axis.values.some(({ text }) => text === null);
  return (
    <>
      {axis.values.map((value, position) => (
        <div key={position} className={classes.value}>
          {value.text === null ? (
            <span>
              <b>{RECORDED_VALUE}</b> <span className="muted">no change</span>
            </span>
          ) : (
            <TextInput
              aria-label={`Name of ${valueNoun} ${position + 1}`}
              value={value.name}
              onChange={(event) => changeValue(position, { name: event.currentTarget.value })}
            />
          )}
          <Tooltip label="Remove">
            <ActionIcon
              variant="subtle"
              aria-label={`Remove ${value.name}`}
              onClick={() => onChange(axis.values.filter((_, index) => index !== position))}
            >
              <IconTrash size={15} />
            </ActionIcon>
          </Tooltip>
          {value.text !== null && (
            <Textarea
              aria-label={`Text of ${value.name || `${valueNoun} ${position + 1}`}`}
              autosize
              minRows={3}
              maxRows={14}
              className={isPrompt ? undefined : classes.code}
              spellCheck={isPrompt}
              value={value.text}
              onChange={(event) => changeValue(position, { text: event.currentTarget.value })}
            />
          )}
        </div>
      ))}
      <div className={classes.row}>
        <Button
          variant="default"
          leftSection={<IconPlus size={14} />}
          onClick={() => onChange([...axis.values, { name: nextName(), text: isPrompt ? system : EXAMPLE }])}
        >
          Add a {valueNoun}
        </Button>
        {!hasRecorded && (
          <Button variant="subtle" onClick={() => onChange([{ name: RECORDED_VALUE, text: null }, ...axis.values])}>
            Add “{RECORDED_VALUE}”
          </Button>
        )}
      </div>
    </>
  );
}

const EXAMPLE = '[\n  {"match": {"type": "model"}, "model": {"max_tokens": 500}}\n]';
