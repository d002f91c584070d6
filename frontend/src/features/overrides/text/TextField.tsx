import { Textarea } from "@mantine/core";
import { useDeferredValue, useId, useLayoutEffect, useMemo, useRef, type ReactElement, type ReactNode } from "react";
import { changeSize, textChanges } from "@/domain/diffs/textChanges";
import { FieldHead } from "./FieldHead";
import { RemovedWords, TextMarks } from "./TextMarks";
import classes from "./TextField.module.css";

interface Props {
  label: string;
  recordedText: string;
  /** `undefined` means "as recorded". */
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  maxRows?: number;
  placeholder?: string;
  /** A control beside the label. */
  aside?: ReactNode;
}

/** A text field that starts with the recorded text and marks what changed. Typing that text again removes the edit. */
export function TextField({
  label,
  recordedText,
  value,
  onChange,
  maxRows = 16,
  placeholder,
  aside,
}: Props): ReactElement {
  const id = useId();
  const marks = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const scrollMarks = () => {
    if (marks.current) marks.current.scrollTop = field.current?.scrollTop ?? 0;
  };
  // The marks may be a moment late; what is typed may not.
  const text = useDeferredValue(value);
  const pieces = useMemo(() => (text === undefined ? [] : textChanges(recordedText, text)), [recordedText, text]);
  // The first edit may come after the field has scrolled.
  useLayoutEffect(scrollMarks, [pieces]);
  return (
    <div className={classes.field}>
      <FieldHead
        id={id}
        label={label}
        size={changeSize(pieces)}
        isEdited={value !== undefined}
        onReset={() => onChange(undefined)}
        aside={aside}
      />
      <div className={classes.marked}>
        <TextMarks ref={marks} pieces={pieces} />
        <Textarea
          ref={field}
          id={id}
          autosize
          minRows={2}
          maxRows={maxRows}
          classNames={{ input: classes.input ?? "" }}
          placeholder={placeholder}
          value={value ?? recordedText}
          data-edited={value !== undefined}
          onScroll={scrollMarks}
          onChange={(event) =>
            onChange(event.currentTarget.value === recordedText ? undefined : event.currentTarget.value)
          }
        />
      </div>
      <RemovedWords pieces={pieces} />
    </div>
  );
}
