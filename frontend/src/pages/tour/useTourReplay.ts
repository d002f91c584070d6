import { useSessionStorage } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useMemo } from "react";
import type { SessionView, StepSummary } from "@/api/schema";
import { paths } from "@/app/paths";
import { hasEnded, statusWords } from "@/domain/replays/status";
import { TOUR_DIFF_KEY } from "@/domain/tour/stages";
import { useSession } from "@/features/replays/useSession";
import { revealOrder, revealPause } from "./reveal";
import { useRevealedCount } from "./useRevealedCount";

export interface TourReplay {
  session: SessionView;
  /** The steps whose labels are shown, in the order of the run. */
  steps: readonly StepSummary[];
  /** All steps are shown, and the replay has isOver. */
  isShown: boolean;
  /** Why the replay did not complete. */
  error: string;
}

/** The time to read the new answer before the diff opens. */
const ANSWER_MS = 1_400;

/**
 * A running replay whose steps appear one after another, however fast it is, and then its diff. Without motion they
 * appear as they come.
 */
export function useTourReplay(start: SessionView | null, expectedSteps: number): TourReplay | null {
  const live = useSession(start?.id ?? null);
  const session = live.session ?? start;
  const isOver = session !== null && hasEnded(session);
  const fork = session?.fork_sequence_no ?? 0;
  const { copies, sequence } = useMemo(() => revealOrder(live.steps, fork, isOver), [live.steps, fork, isOver]);
  const count = useRevealedCount(sequence.length, revealPause(expectedSteps));
  const isCompleted = isOver && session.status.startsWith("completed");
  const isShown = isCompleted && sequence.length > 0 && count === sequence.length;
  useDiffAfter(isShown ? session.diff : null);
  const steps = useMemo(() => [...copies, ...sequence.slice(0, count)], [copies, sequence, count]);
  if (!session) return null;
  return {
    session,
    steps,
    isShown,
    error: isOver && !isCompleted ? session.error || statusWords(session).detail : "",
  };
}

/** Continue the tour on a diff. */
function useDiffAfter(diff: string | null): void {
  const navigate = useNavigate();
  const [, setTourDiff] = useSessionStorage({ key: TOUR_DIFF_KEY, defaultValue: "" });
  const open = useEffectEvent((id: string) => {
    setTourDiff(id);
    void navigate(paths.diff(id));
  });
  useEffect(() => {
    if (diff === null) return;
    const timer = setTimeout(() => open(diff), ANSWER_MS);
    return () => clearTimeout(timer);
  }, [diff]);
}
