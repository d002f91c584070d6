import { useState, type ReactElement } from "react";
import { MarkdownText } from "@/features/markdown/MarkdownText";
import { count } from "@/ui/format/numbers";
import { truncate } from "@/ui/format/text";
import classes from "./Message.module.css";

/** Characters of a text that is shown before it is asked for as a whole. */
const LIMIT = 4000;

/** Recorded text that was written to be read. Long texts are collapsed. */
export function Prose({ text }: { text: string }): ReactElement {
  const [isWhole, setWhole] = useState(false);
  const visible = isWhole ? text : truncate(text, LIMIT);
  return (
    <>
      <MarkdownText text={visible} />
      {visible.length < text.length && (
        <button type="button" className={classes.more} onClick={() => setWhole(true)}>
          show {count(text.length - visible.length)} more characters
        </button>
      )}
    </>
  );
}
