import { createContext } from "react";
import type { RunSummary } from "@/api/schema";
import type { RunActions } from "@/features/retention/useRunActions";

export interface RunRowContext {
  selection: readonly RunSummary[];
  onToggle: (run: RunSummary) => void;
  onToggleAll: () => void;
  /** All runs on the page are selected, or only some. */
  coverage: "none" | "some" | "all";
  actions: RunActions | null;
  /** Show or hide the forks of a run. */
  onToggleForks: (root: string) => void;
  onShowAllForks: (root: string) => void;
  /** Forks are below their first run. */
  isNested: boolean;
}

/** Data of the cells besides their run. The columns are constant so that a focused cell stays mounted. */
export const RunRows = createContext<RunRowContext>({
  selection: [],
  onToggle: () => undefined,
  onToggleAll: () => undefined,
  coverage: "none",
  actions: null,
  onToggleForks: () => undefined,
  onShowAllForks: () => undefined,
  isNested: false,
});
