import { Tooltip } from "@mantine/core";
import { IconLock } from "@tabler/icons-react";
import { createContext, useContext, type ReactElement } from "react";
import { lookup } from "@/ui/format/lookup";
import { FAILURE_KIND, splitMarkers } from "@/ui/format/markers";
import classes from "./MarkedText.module.css";

/** Why values were replaced, by the kind that their markers name. */
export const RedactionReasons = createContext<Readonly<Record<string, string>>>({});

/** Recorded text, with a mark in place of each value that was not stored. */
export function MarkedText({ text }: { text: string }): ReactElement {
  const pieces = splitMarkers(text);
  return (
    <>
      {pieces.map((piece, index) =>
        "text" in piece ? piece.text : <Mark key={index} kind={piece.kind} digest={piece.digest} />,
      )}
    </>
  );
}

/** The mark of one value: its kind and the beginning of its digest, by which equal values are recognized. */
function Mark({ kind, digest }: { kind: string; digest: string }): ReactElement {
  const reasons = useContext(RedactionReasons);
  const reason = lookup(reasons, kind) ?? "Not stored";
  const fate = digest ? "Redacted" : kind === FAILURE_KIND ? "Blocked" : "Dropped";
  return (
    <Tooltip
      label={`${fate}. ${reason}${digest ? `. Equal values have the digest ${digest}` : ""}`}
      multiline
      maw={320}
    >
      <span className={classes.mark} tabIndex={0} data-blocked={kind === FAILURE_KIND || undefined}>
        <IconLock size={11} aria-label={fate} />
        {kind}
        {digest && <span className={classes.digest}>{digest.slice(0, 4)}</span>}
      </span>
    </Tooltip>
  );
}
