import { UnstyledButton } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { DiffPlace, MessageChange } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { TextDiffView } from "./TextDiffView";
import classes from "./MessageList.module.css";

/** Changes that start expanded, and the messages to show at first. */
const OPEN = 3;
const FIRST = 30;

const SIGN: Record<MessageChange["op"], { sign: string; words: string }> = {
  added: { sign: "+", words: "added" },
  removed: { sign: "−", words: "removed" },
  changed: { sign: "≠", words: "changed" },
};

/** Changes in a list of messages. */
export function MessageList(props: {
  changes: readonly MessageChange[];
  isUnified: boolean;
  place: DiffPlace;
}): ReactElement {
  const [showAll, setShowAll] = useState(false);
  const visible = showAll ? props.changes : props.changes.slice(0, FIRST);
  return (
    <ol className={classes.list}>
      {visible.map((change, index) => (
        <Message
          key={index}
          change={change}
          isUnified={props.isUnified}
          place={{ ...props.place, part: `message ${index}` }}
          startOpen={index < OPEN}
        />
      ))}
      {visible.length < props.changes.length && (
        <li>
          <UnstyledButton className={classes.more} onClick={() => setShowAll(true)}>
            Show {pluralize(props.changes.length - visible.length, "more changed message")}
          </UnstyledButton>
        </li>
      )}
    </ol>
  );
}

function Message(props: {
  change: MessageChange;
  isUnified: boolean;
  place: DiffPlace;
  startOpen: boolean;
}): ReactElement {
  const { change } = props;
  const [open, setOpen] = useState(props.startOpen);
  const { sign, words } = SIGN[change.op];
  return (
    <li className={classes[change.op]}>
      <UnstyledButton
        className={classes.head}
        aria-expanded={open}
        disabled={!change.text}
        onClick={() => setOpen((value) => !value)}
      >
        <span className={classes.sign} aria-hidden>
          {sign}
        </span>
        <b>{change.role}</b>
        <span className="muted">
          message {messageNumbers(change)} {words}
        </span>
      </UnstyledButton>
      {open && change.text && <TextDiffView diff={change.text} isUnified={props.isUnified} place={props.place} />}
    </li>
  );
}

/** Message numbers start at 1. */
function messageNumbers({ base_index: base, candidate_index: candidate }: MessageChange): string {
  if (base !== null && candidate !== null && base !== candidate) return `${base + 1} → ${candidate + 1}`;
  return String((base ?? candidate ?? 0) + 1);
}
