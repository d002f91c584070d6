import { useQuery } from "@tanstack/react-query";
import { createContext, use, useDeferredValue, useLayoutEffect, type ReactNode, type RefObject } from "react";
import { stepsFromQuery } from "@/api/runs/runs";
import type { StepSummary } from "@/api/schema";

const SelectedNumber = createContext<number | null>(null);

/** What handlers read, so that a component that only moves the selection is not rendered when it has moved. */
export type SelectedRef = RefObject<number | null>;

interface SelectionProps {
  number: number | null;
  selectedRef: SelectedRef;
  children: ReactNode;
}

/** The selected step of the page. A key that moves it renders only what shows it. */
export function Selection({ number, selectedRef, children }: SelectionProps): ReactNode {
  useLayoutEffect(() => {
    selectedRef.current = number;
  }, [selectedRef, number]);
  return <SelectedNumber value={number}>{children}</SelectedNumber>;
}

export const useSelectedNumber = (): number | null => use(SelectedNumber);

interface StepProps {
  run: string;
  steps: readonly StepSummary[];
  /** More steps are still loading. */
  partial: boolean;
  children: (step: StepSummary | null, number: number | null) => ReactNode;
}

/** What shows the selected step in full. It follows the selection in the list, which answers the key at once. */
export function SelectedStep({ run, steps, partial, children }: StepProps): ReactNode {
  const number = useDeferredValue(useSelectedNumber());
  const isSelected = (step: StepSummary) => step.sequence_no === number;
  const listedStep = steps.find(isSelected);
  // It may belong to a part of a long run that is not loaded yet.
  const isAwaited = partial && number !== null && !listedStep;
  const linkedStep = useQuery({ ...stepsFromQuery(run, number ?? 1, 1), enabled: isAwaited });
  return children(listedStep ?? (isAwaited ? linkedStep.data?.steps.find(isSelected) : null) ?? null, number);
}
