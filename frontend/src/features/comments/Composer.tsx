import { Button, Textarea, TextInput } from "@mantine/core";
import { useState, type KeyboardEvent, type ReactElement } from "react";
import { useComments } from "./commentsContext";
import { useVisitorName } from "./useVisitorName";
import classes from "./Comments.module.css";

/** The server accepts no more characters. */
const MAX_LENGTH = 5_000;
const MAX_NAME = 60;

interface Props {
  label: string;
  /** The verb of the button. */
  action: string;
  initialText?: string;
  isPending: boolean;
  onSubmit: (text: string, name: string) => void;
  onCancel: () => void;
}

/** A field for a comment. Visitors also give their name, once per browser. */
export function Composer({ label, action, initialText = "", isPending, onSubmit, onCancel }: Props): ReactElement {
  const [text, setText] = useState(initialText);
  const [storedName, setStoredName] = useVisitorName();
  const [name, setName] = useState(storedName);
  const asksName = useComments()?.role === "visitor" && storedName === "";
  const isComplete = text.trim() !== "" && (!asksName || name.trim() !== "");
  const submit = () => {
    if (!isComplete || isPending) return;
    if (asksName) setStoredName(name.trim());
    onSubmit(text, name.trim() || storedName);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // The shortcuts of the page do not apply here.
    event.stopPropagation();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
    if (event.key === "Escape") onCancel();
  };
  return (
    <div className={classes.composer} onKeyDown={onKeyDown}>
      {asksName && (
        <TextInput
          label="Your name"
          description="Shown with your comments"
          value={name}
          maxLength={MAX_NAME}
          autoFocus
          onChange={(event) => setName(event.currentTarget.value)}
        />
      )}
      <Textarea
        aria-label={label}
        placeholder="Markdown is formatted. Ctrl+Enter sends."
        value={text}
        maxLength={MAX_LENGTH}
        minRows={2}
        maxRows={14}
        autosize
        autoFocus={!asksName}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <div className={classes.actions}>
        <Button onClick={submit} loading={isPending} disabled={!isComplete}>
          {action}
        </Button>
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </div>
  );
}
