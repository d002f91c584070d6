import { useState, type ReactElement } from "react";
import { count } from "@/ui/format/numbers";
import { truncate } from "@/ui/format/text";
import { MarkedText } from "./MarkedText";
import classes from "./TextView.module.css";

/** Recorded text, never interpreted as markup. Long texts are collapsed. */
export function TextView({ text, limit = 4000 }: { text: string; limit?: number }): ReactElement {
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
  isQuoted?: boolean;
  className?: string | undefined;
}): ReactElement {
  const { text, limit = 600 } = props;
  const [visibleLimit, setVisibleLimit] = useState(limit);
  const quote = props.isQuoted ? '"' : "";
  const visible = truncate(text, visibleLimit);
  return (
    <span className={props.className}>
      {quote}
      <MarkedText text={visible} />
      {visible.length < text.length && "…"}
      {quote}
      {visible.length < text.length && (
        <button type="button" className={classes.more} onClick={() => setVisibleLimit(visibleLimit + 100_000)}>
          show {count(Math.min(100_000, text.length - visible.length))} more characters
        </button>
      )}
    </span>
  );
}
