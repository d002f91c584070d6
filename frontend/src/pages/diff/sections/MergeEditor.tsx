import { MergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef, type ReactElement } from "react";

const look = EditorView.theme({
  "&": { fontSize: "0.75rem", backgroundColor: "var(--panel)", color: "var(--text)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--faint)", borderRight: "1px solid var(--line)" },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": {
    backgroundColor: "color-mix(in srgb, var(--del) 55%, transparent)",
  },
  "&.cm-merge-b .cm-changedLine": { backgroundColor: "color-mix(in srgb, var(--add) 55%, transparent)" },
  "&.cm-merge-a .cm-changedText": { background: "var(--del)" },
  "&.cm-merge-b .cm-changedText": { background: "var(--add)" },
});

function side(doc: string, label: string) {
  const extensions = [
    lineNumbers(),
    EditorView.lineWrapping,
    EditorState.readOnly.of(true),
    EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true" }),
    look,
  ];
  return { doc, extensions };
}

/** Two texts in CodeMirror's merge view, with unchanged parts collapsed. */
export default function MergeEditor({ base, candidate }: { base: string; candidate: string }): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!host.current) return;
    const view = new MergeView({
      a: side(base, "Base"),
      b: side(candidate, "Candidate"),
      parent: host.current,
      collapseUnchanged: { margin: 3, minSize: 6 },
      diffConfig: { scanLimit: 2000, timeout: 400 },
    });
    return () => view.destroy();
  }, [base, candidate]);
  return <div ref={host} style={{ maxHeight: "70vh", overflow: "auto" }} />;
}
