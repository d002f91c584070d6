import type { ReactElement } from "react";
import { count } from "@/ui/format/numbers";
import { PAPER_ROWS, usePaper } from "./paper";

/** On paper: what of a long list is missing, and how to get it. */
export function PaperGap({ rows }: { rows: number }): ReactElement | null {
  if (!usePaper() || rows <= PAPER_ROWS) return null;
  return (
    <p className="muted">
      The first {count(PAPER_ROWS)} of {count(rows)} steps. Filter the steps to print others.
    </p>
  );
}
