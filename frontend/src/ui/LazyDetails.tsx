import { useState, type ReactElement, type ReactNode } from "react";

interface Props {
  className?: string | undefined;
  summary: ReactNode;
  /** A field inside is edited: the details open, and stay open when the edit is undone. */
  hasEdits?: boolean;
  children: ReactNode;
}

/** Fields that are drawn when they are first unfolded: a form of all of them takes longer to open than a key may. */
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
      onToggle={({ currentTarget: { open } }) => setState((now) => (open ? "open" : now === "open" ? "folded" : now))}
    >
      <summary>{summary}</summary>
      {state !== "unseen" && children}
    </details>
  );
}
