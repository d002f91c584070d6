import { Textarea } from "@mantine/core";
import { useId, useState, type ReactElement } from "react";
import type { JsonValue } from "@/api/schema";
import { FieldHead } from "@/features/overrides/text/FieldHead";
import classes from "../Fork.module.css";
import { useUnappliedText } from "../unappliedText";
import { indentJson, restoreStyle, styleOf } from "./jsonText";

interface JsonProps {
  label: string;
  recordedValue: JsonValue;
  value: JsonValue | undefined;
  onChange: (value: JsonValue | undefined) => void;
  /** Why a value is invalid. Null if it is valid. */
  check?: (value: JsonValue) => string | null;
  rows?: number;
}

function toText(value: JsonValue): string {
  if (typeof value === "string") return styleOf(value) ? indentJson(value) : value;
  return JSON.stringify(value, null, 2);
}

/** Parse input in the format of the recorded value: text stays text, anything else must be JSON. */
function parseInput(text: string, recordedValue: JsonValue): { value: JsonValue } | { error: string } {
  const style = typeof recordedValue === "string" ? styleOf(recordedValue) : null;
  if (typeof recordedValue === "string" && !style) return { value: text };
  try {
    return { value: style ? restoreStyle(text, style) : (JSON.parse(text) as JsonValue) };
  } catch (error) {
    if (recordedValue === null) return { value: text };
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** A JSON field. Invalid JSON shows an error and is not applied. */
export function JsonField({ label, recordedValue, value, onChange, check, rows = 3 }: JsonProps): ReactElement {
  const id = useId();
  const [text, setText] = useState(() => toText(value ?? recordedValue));
  const [error, setError] = useState("");
  useUnappliedText(error !== "");
  const json = JSON.stringify(value);
  const [lastJson, setLastJson] = useState(json);
  // Reflect edits that are made or removed elsewhere, for example by a chip.
  if (json !== lastJson) {
    setLastJson(json);
    const input = parseInput(text, recordedValue);
    const target = value === undefined ? recordedValue : value;
    const isSame = "value" in input && JSON.stringify(input.value) === JSON.stringify(target);
    if (!isSame && !error) setText(toText(target));
  }
  const type = (next: string) => {
    setText(next);
    const result = parseInput(next, recordedValue);
    const problem = "error" in result ? result.error : (check?.(result.value) ?? "");
    setError(problem);
    if ("value" in result && !problem)
      onChange(JSON.stringify(result.value) === JSON.stringify(recordedValue) ? undefined : result.value);
  };
  return (
    <div className={classes.field}>
      <FieldHead
        id={id}
        label={label}
        isEdited={value !== undefined}
        onReset={() => {
          setText(toText(recordedValue));
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
