import type { ReactElement, Ref } from "react";
import type { TextPiece } from "@/domain/diffs/textChanges";
import classes from "./TextField.module.css";

interface Props {
  pieces: readonly TextPiece[];
  ref: Ref<HTMLDivElement>;
}

/**
 * Marks behind the added words of a text field. The field itself can show none, so this repeats its text, invisibly and
 * in the same lines.
 */
export function TextMarks({ pieces, ref }: Props): ReactElement | null {
  if (pieces.length === 0) return null;
  return (
    <div ref={ref} className={`${classes.input} ${classes.marks}`} dir="auto" aria-hidden>
      {pieces.map(({ kind, text }, index) =>
        kind === "same" ? text : kind === "added" ? <ins key={index}>{text}</ins> : null,
      )}
      {/* An empty last line takes space only if something is in it. */}
      {"\u200b"}
    </div>
  );
}

/** The removed words, which a text field cannot show in place. */
export function RemovedWords({ pieces }: { pieces: readonly TextPiece[] }): ReactElement | null {
  const texts = pieces.flatMap(({ kind, text }) => (kind === "removed" && text.trim() ? [text.trim()] : []));
  if (texts.length === 0) return null;
  return (
    <p className={classes.removed}>
      <span className="muted">Removed</span>
      {texts.map((text, index) => (
        <del key={index}>{text}</del>
      ))}
    </p>
  );
}
