import { useLocalStorage } from "@mantine/hooks";
import { useMemo } from "react";
import type { RunView } from "./views";

/** Views whose rows need most of the width of a laptop. Beside an open fork, three columns fit only wider screens. */
const WIDE: ReadonlySet<RunView> = new Set<RunView>(["transcript", "timeline"]);
const THREE_WIDE_COLUMNS = "(min-width: 112.5rem)";

export const isWide = (view: RunView): boolean => WIDE.has(view);

export interface StepPanelState {
  isShown: boolean;
  toggle: () => void;
}

/** Whether the selected step is shown beside a view: remembered per browser, by kind of view. */
export function useStepPanel(view: RunView, isForkOpen: boolean): StepPanelState {
  const kind = view === "graph" ? "graph" : isWide(view) && isForkOpen ? "wide-fork" : "default";
  const [choices, setChoices] = useLocalStorage<Partial<Record<string, boolean>>>({
    key: "step-panels",
    defaultValue: {},
    getInitialValueInEffect: false,
  });
  const isShown = choices[kind] ?? (kind !== "wide-fork" || window.matchMedia(THREE_WIDE_COLUMNS).matches);
  return useMemo(
    () => ({ isShown, toggle: () => setChoices((current) => ({ ...current, [kind]: !isShown })) }),
    [isShown, kind, setChoices],
  );
}
