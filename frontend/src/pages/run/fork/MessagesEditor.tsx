import { Textarea } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { counted } from "@/components/format";
import type { ModelInput } from "../step/content";
import { deleteMessage, editMessage, entryFor } from "./draft";
import classes from "./Fork.module.css";
import { FieldHead } from "./fields";
import type { EditorProps } from "./StepEditor";

/** The newest messages are what one wants to change; the others come on demand. */
const NEWEST = 4;

/** Every message of one request, to change or leave out. */
export function MessagesEditor({
  step,
  draft,
  onChange,
  request,
}: EditorProps & { request: ModelInput }): ReactElement {
  const [all, setAll] = useState(false);
  const match = { step: step.sequence_no };
  const edits = entryFor(draft, match)?.messages ?? [];
  const indexed = request.messages
    .map((message, index) => ({ message, index }))
    .filter(({ message }) => message.role !== "system");
  const shown = all ? indexed : indexed.slice(-NEWEST);
  return (
    <details className={classes.more} open={edits.length > 0}>
      <summary>
        Messages of step {step.sequence_no} <span className="muted">{counted(indexed.length, "message")}</span>
      </summary>
      {shown.length < indexed.length && (
        <button type="button" className={classes.link} onClick={() => setAll(true)}>
          {counted(indexed.length - shown.length, "earlier message")}
        </button>
      )}
      {shown.map(({ message, index }) => {
        const edit = edits.find((each) => each.index === index && each.op !== "insert");
        const gone = edit?.op === "delete";
        return (
          <div key={index} className={classes.field}>
            <FieldHead
              label={`${index + 1} · ${message.role}${message.calls.length > 0 ? ` · calls ${message.calls.map(({ name }) => name).join(", ")}` : ""}`}
              edited={edit !== undefined}
              onReset={() => onChange(editMessage(draft, match, index, undefined))}
            />
            {gone ? (
              <p className={`muted ${classes.gone}`}>Left out.</p>
            ) : (
              <>
                <Textarea
                  aria-label={`Message ${index + 1}, ${message.role}`}
                  autosize
                  minRows={1}
                  maxRows={8}
                  value={typeof edit?.content === "string" ? edit.content : message.text}
                  data-edited={edit !== undefined}
                  onChange={(event) => {
                    const text = event.currentTarget.value;
                    onChange(editMessage(draft, match, index, text === message.text ? undefined : text));
                  }}
                />
                <button
                  type="button"
                  className={classes.link}
                  onClick={() => onChange(deleteMessage(draft, match, index))}
                >
                  leave out
                </button>
              </>
            )}
          </div>
        );
      })}
    </details>
  );
}
