import { Select, Textarea } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { pluralize } from "@/ui/format/numbers";
import type { Message, ModelInput } from "@/domain/steps/content";
import { insertMessages, insertedMessages, deleteMessage, editMessage } from "../messageEdits";
import { entryFor } from "../edits";
import classes from "../Fork.module.css";
import { FieldHead } from "@/features/overrides/text/FieldHead";
import { LazyDetails } from "@/ui/LazyDetails";
import type { EditorProps } from "./types";

/** Messages to show at first: the newest are the ones people usually change. */
const NEWEST = 4;
const roles = ["user", "assistant", "system"];

type Props = EditorProps & { request: ModelInput };

/** All messages of a request, to edit, omit or insert. */
export function MessagesEditor(props: Props): ReactElement {
  const { step, draft, request } = props;
  const [showAll, setShowAll] = useState(false);
  const edits = entryFor(draft, { step: step.sequence_no })?.messages ?? [];
  const indexedMessages = request.messages
    .map((message, index) => ({ message, index }))
    .filter(({ message }) => message.role !== "system");
  const visible = showAll ? indexedMessages : indexedMessages.slice(-NEWEST);
  return (
    <LazyDetails
      className={classes.more}
      hasEdits={edits.length > 0}
      summary={
        <>
          Messages of step {step.sequence_no}{" "}
          <span className="muted">{pluralize(indexedMessages.length, "message")}</span>
        </>
      }
    >
      {visible.length < indexedMessages.length && (
        <button type="button" className={classes.link} onClick={() => setShowAll(true)}>
          {pluralize(indexedMessages.length - visible.length, "earlier message")}
        </button>
      )}
      {visible.map(({ message, index }) => (
        <div key={index} className={classes.field}>
          <InsertedMessages {...props} index={index} />
          <RecordedMessage {...props} index={index} message={message} />
        </div>
      ))}
      <InsertedMessages {...props} index={request.messages.length} />
    </LazyDetails>
  );
}

function RecordedMessage({
  step,
  draft,
  onChange,
  index,
  message,
}: Props & { index: number; message: Message }): ReactElement {
  const match = { step: step.sequence_no };
  const edit = entryFor(draft, match)?.messages?.find((item) => item.index === index && item.op !== "insert");
  const calls = message.calls.length > 0 ? ` · calls ${message.calls.map(({ name }) => name).join(", ")}` : "";
  return (
    <>
      <FieldHead
        label={`${index + 1} · ${message.role}${calls}`}
        isEdited={edit !== undefined}
        onReset={() => onChange(editMessage(draft, match, index, undefined))}
      />
      {edit?.op === "delete" ? (
        <p className={`muted ${classes.omitted}`}>{message.text || "Omitted"}</p>
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
            aria-label={`Omit message ${index + 1}`}
          >
            omit
          </button>
        </>
      )}
    </>
  );
}

/** Messages inserted before a recorded message, with a button to insert another. */
function InsertedMessages({ step, draft, onChange, request, index }: Props & { index: number }): ReactElement {
  const match = { step: step.sequence_no };
  const messages = insertedMessages(entryFor(draft, match)?.messages, index);
  const setMessages = (next: typeof messages) => onChange(insertMessages(draft, match, index, next));
  const place = index < request.messages.length ? `before message ${index + 1}` : "at the end";
  return (
    <>
      {messages.map(({ text, role }, position) => (
        <div key={position} className={classes.inserted}>
          <div className="bar">
            <span className={`${classes.label} grow`}>New, {place}</span>
            <Select
              aria-label={`Role of the new message ${place}`}
              data={roles.includes(role) ? roles : [...roles, role]}
              value={role}
              allowDeselect={false}
              w={104}
              onChange={(value) =>
                setMessages(
                  messages.map((message, index) =>
                    index === position && value ? { ...message, role: value } : message,
                  ),
                )
              }
            />
            <button
              type="button"
              className={classes.link}
              onClick={() => setMessages(messages.filter((_, index) => index !== position))}
              aria-label={`Remove the new message ${place}`}
            >
              remove
            </button>
          </div>
          <Textarea
            aria-label={`Text of the new message ${place}`}
            autosize
            minRows={2}
            maxRows={8}
            data-edited
            value={text}
            onChange={(event) => {
              const next = event.currentTarget.value;
              setMessages(
                messages.map((message, index) => (index === position ? { ...message, text: next } : message)),
              );
            }}
          />
        </div>
      ))}
      <button
        type="button"
        className={classes.insert}
        onClick={() => setMessages([...messages, { text: "", role: "user" }])}
        aria-label={`Insert a message ${place}`}
      >
        <IconPlus size={11} aria-hidden /> message {index < request.messages.length ? "" : "at the end"}
      </button>
    </>
  );
}
