import { json } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useEffectEvent, useMemo, useRef, useState, type ReactElement } from "react";
import { bytes } from "@/ui/format/numbers";
import classes from "./CodeView.module.css";

interface Props {
  value: unknown;
  label: string;
  /** Makes the view editable. Called with the whole text. */
  onChange?: (text: string) => void;
}
/** Larger texts make any editor slow. */
const LIMIT = 2_000_000;

const style = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--cached)" },
  { tag: tags.string, color: "var(--exact)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--simulated)" },
]);
const look = EditorView.theme({
  "&": { fontSize: "0.75rem", backgroundColor: "transparent", maxHeight: "60vh" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft) !important" },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)" },
});

/** JSON in CodeMirror, editable if `onChange` is set. Strings are shown verbatim, other values indented. */
export default function CodeView({ value, label, onChange }: Props): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const text = useMemo(
    () => (typeof value === "string" && onChange ? value : JSON.stringify(value, null, 2)),
    [value, onChange],
  );
  const [initial] = useState(text);
  const onEdit = useEffectEvent((next: string) => onChange?.(next));
  const editable = onChange !== undefined;
  const visibleText = editable ? initial : text;
  const tooLong = visibleText.length > LIMIT;
  useEffect(() => {
    if (!host.current || tooLong) return;
    const view = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: visibleText,
        extensions: [
          json(),
          syntaxHighlighting(style),
          bracketMatching(),
          foldGutter(),
          lineNumbers(),
          search({ top: true }),
          history(),
          keymap.of([...searchKeymap, ...historyKeymap, ...defaultKeymap]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorState.readOnly.of(!editable),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) onEdit(update.state.doc.toString());
          }),
          look,
        ],
      }),
    });
    return () => view.destroy();
  }, [visibleText, label, editable, tooLong]);
  if (tooLong)
    return <p className="muted">{bytes(visibleText.length)} of JSON: too large to show here. Get it from the API.</p>;
  return <div ref={host} className={classes.code} />;
}
