import { Textarea } from "@mantine/core";
import { useId, useState, type ReactElement, type ReactNode } from "react";
import type { JsonValue } from "@/api/schema";
import classes from "../Fork.module.css";
import { indentJson, restoreStyle, styleOf } from "./jsonText";

/** A label with the way back to what was recorded. */
export function FieldHead(props: {
  id?: string;
  label: ReactNode;
  edited: boolean;
  onReset: () => void;
}): ReactElement {
  return (
    <div className={classes.fieldHead}>
      <label htmlFor={props.id} className={classes.label}>
        {props.label}
      </label>
      {props.edited && (
        <button type="button" className={classes.link} onClick={props.onReset}>
          as recorded
        </button>
      )}
    </div>
  );
}

interface TextProps {
  label: string;
  recorded: string;
  /** `undefined`: as recorded. */
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  maxRows?: number;
  placeholder?: string;
}

/** A text that starts as recorded; typing the recorded text again takes the edit back. */
export function TextField({ label, recorded, value, onChange, maxRows = 12, placeholder }: TextProps): ReactElement {
  const id = useId();
  return (
    <div className={classes.field}>
      <FieldHead id={id} label={label} edited={value !== undefined} onReset={() => onChange(undefined)} />
      <Textarea
        id={id}
        autosize
        minRows={2}
        maxRows={maxRows}
        placeholder={placeholder}
        value={value ?? recorded}
        data-edited={value !== undefined}
        onChange={(event) => onChange(event.currentTarget.value === recorded ? undefined : event.currentTarget.value)}
      />
    </div>
  );
}

interface JsonProps {
  label: string;
  recorded: JsonValue;
  value: JsonValue | undefined;
  onChange: (value: JsonValue | undefined) => void;
  /** What is wrong with a value, if anything. */
  check?: (value: JsonValue) => string | null;
  rows?: number;
}

function toText(value: JsonValue): string {
  if (typeof value === "string") return styleOf(value) ? indentJson(value) : value;
  return JSON.stringify(value, null, 2);
}

/** What is typed, read as the recorded value was: text stays text, everything else must be JSON. */
function parseInput(text: string, recorded: JsonValue): { value: JsonValue } | { error: string } {
  const style = typeof recorded === "string" ? styleOf(recorded) : null;
  if (typeof recorded === "string" && !style) return { value: text };
  try {
    return { value: style ? restoreStyle(text, style) : (JSON.parse(text) as JsonValue) };
  } catch (error) {
    if (recorded === null) return { value: text };
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** A JSON value to edit; what is not JSON yet is said beneath and not applied. */
export function JsonField({ label, recorded, value, onChange, check, rows = 3 }: JsonProps): ReactElement {
  const id = useId();
  const [text, setText] = useState(() => toText(value ?? recorded));
  const [error, setError] = useState("");
  const serialized = JSON.stringify(value);
  const [lastSerialized, setLastSerialized] = useState(serialized);
  // An edit that was made or taken back elsewhere, as by its chip, is seen in the field too.
  if (serialized !== lastSerialized) {
    setLastSerialized(serialized);
    const parsed = parseInput(text, recorded);
    const target = value === undefined ? recorded : value;
    const isSame = "value" in parsed && JSON.stringify(parsed.value) === JSON.stringify(target);
    if (!isSame && !error) setText(toText(target));
  }
  const type = (next: string) => {
    setText(next);
    const result = parseInput(next, recorded);
    const problem = "error" in result ? result.error : (check?.(result.value) ?? "");
    setError(problem);
    if ("value" in result && !problem)
      onChange(JSON.stringify(result.value) === JSON.stringify(recorded) ? undefined : result.value);
  };
  return (
    <div className={classes.field}>
      <FieldHead
        id={id}
        label={label}
        edited={value !== undefined}
        onReset={() => {
          setText(toText(recorded));
          setError("");
          onChange(undefined);
        }}
      />
      <Textarea
        id={id}
        autosize
        minRows={rows}
        maxRows={16}
        classNames={{ input: classes.code ?? "" }}
        spellCheck={false}
        value={text}
        error={error && `Not applied: ${error}`}
        data-edited={value !== undefined}
        onChange={(event) => type(event.currentTarget.value)}
      />
    </div>
  );
}
