import { useState, type ReactElement, type ReactNode } from "react";

interface Props {
  className?: string | undefined;
  summary: ReactNode;
  /** Whether a field inside is edited. Opens the details, which stay open when the edit is undone. */
  hasEdits?: boolean;
  children: ReactNode;
}

/** Details whose content is rendered when first opened, because rendering a large form takes too long. */
export function LazyDetails({ className, summary, hasEdits = false, children }: Props): ReactElement {
  const [state, setState] = useState<"unseen" | "open" | "folded">(hasEdits ? "open" : "unseen");
  const [lastHasEdits, setLastHasEdits] = useState(hasEdits);
  if (hasEdits !== lastHasEdits) {
    setLastHasEdits(hasEdits);
    if (hasEdits) setState("open");
  }
  return (
    <details
      className={className}
      open={state === "open"}
      onToggle={({ currentTarget }) => {
        const { open } = currentTarget;
        setState((now) => (open ? "open" : now === "open" ? "folded" : now));
        // At the end of a scrolled panel, what opened would be out of sight.
        if (open) requestAnimationFrame(() => currentTarget.scrollIntoView({ block: "nearest" }));
      }}
    >
      <summary>{summary}</summary>
      {state !== "unseen" && children}
    </details>
  );
}
