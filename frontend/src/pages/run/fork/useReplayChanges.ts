import { useQuery } from "@tanstack/react-query";
import { useEffect, useEffectEvent } from "react";
import { sessionQuery } from "@/api/replays/replays";
import { draftOf, type Draft } from "@/domain/overrides/draft";

export interface ForkOf {
  /** The changes of a replay are on their way into the draft. */
  pending: boolean;
  error: Error | null;
}

/** Fills the draft with what a replay had changed, once, and says when it has. */
export function useForkOf(session: string | null, change: (draft: Draft) => void, onFilled: () => void): ForkOf {
  const source = useQuery({ ...sessionQuery(session ?? ""), enabled: session !== null });
  const found = session === null ? undefined : source.data;
  const fill = useEffectEvent((draft: Draft) => {
    change(draft);
    onFilled();
  });
  useEffect(() => {
    if (found) fill(draftOf(found.overrides.overrides, found.policy));
  }, [found]);
  return { pending: session !== null && !source.error, error: session === null ? null : source.error };
}
