import { useState, type ReactElement } from "react";
import { count } from "@/ui/format/numbers";
import { truncate } from "@/ui/format/text";
import { MarkedText } from "./MarkedText";
import classes from "./TextView.module.css";

/** Characters that one click adds. */
const STEP = 100_000;

/** Recorded text, never interpreted as markup. Long texts are collapsed. */
export function TextView({ text, limit = 4000 }: { text: string; limit?: number | undefined }): ReactElement {
  return (
    <div className={classes.text} dir="auto">
      <LongText text={text} limit={limit} />
    </div>
  );
}

/** Text of any length within a line. */
export function LongText(props: {
  text: string;
  limit?: number;
  /** The opening and the closing one. */
  quotes?: string;
  className?: string | undefined;
}): ReactElement {
  const { visible, more } = useBeginning(props.text, props.limit ?? 600);
  const [open = "", close = ""] = props.quotes ?? "";
  return (
    <span className={props.className}>
      {open}
      <MarkedText text={visible} />
      {more && "…"}
      {close}
      {more}
    </span>
  );
}

/** The beginning of a text, and a button that shows more of it; null if all of it is visible. */
export function useBeginning(text: string, limit: number): { visible: string; more: ReactElement | null } {
  const [visibleLimit, setVisibleLimit] = useState(limit);
  const visible = truncate(text, visibleLimit);
  const rest = Math.min(STEP, text.length - visible.length);
  if (rest === 0) return { visible, more: null };
  return {
    visible,
    more: (
      <button type="button" className={classes.more} onClick={() => setVisibleLimit(visibleLimit + STEP)}>
        show {count(rest)} more characters
      </button>
    ),
  };
}
