import { Textarea } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { JsonValue } from "@/api/schema";
import { readJson } from "./schemaForm";
import classes from "../ToolsPage.module.css";

/** A field for a JSON value. Invalid JSON shows an error, and `onChange` gets `null`. */
export function JsonArea(props: {
  label: string;
  description?: string;
  placeholder?: string;
  isRequired?: boolean;
  /** Why a value is invalid. Null if it is valid. */
  check?: (value: JsonValue) => string | null;
  onChange: (input: { value: JsonValue | undefined } | null) => void;
}): ReactElement {
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const type = (next: string) => {
    setText(next);
    const result = readJson(next);
    const problem =
      "error" in result ? result.error : result.value === undefined ? "" : (props.check?.(result.value) ?? "");
    setError(problem);
    props.onChange("error" in result || problem ? null : result);
  };
  return (
    <Textarea
      label={props.label}
      description={props.description || undefined}
      placeholder={props.placeholder}
      withAsterisk={props.isRequired ?? false}
      autosize
      minRows={2}
      maxRows={12}
      spellCheck={false}
      classNames={{ input: classes.code ?? "" }}
      value={text}
      error={error}
      onChange={(event) => type(event.currentTarget.value)}
    />
  );
}
