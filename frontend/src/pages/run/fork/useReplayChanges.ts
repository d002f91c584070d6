import { useQuery } from "@tanstack/react-query";
import { useEffect, useEffectEvent } from "react";
import { sessionQuery } from "@/api/replays/replays";
import { draftOf, type Draft } from "@/domain/overrides/draft";

export interface ReplayChanges {
  /** The replay's changes are being loaded into the draft. */
  pending: boolean;
  error: Error | null;
}

/** Load a replay's changes into the draft once, then call `onLoad`. */
export function useReplayChanges(
  session: string | null,
  change: (draft: Draft) => void,
  onLoad: () => void,
): ReplayChanges {
  const source = useQuery({ ...sessionQuery(session ?? ""), enabled: session !== null });
  const replay = session === null ? undefined : source.data;
  const fill = useEffectEvent((draft: Draft) => {
    change(draft);
    onLoad();
  });
  useEffect(() => {
    if (replay) fill(draftOf(replay.overrides.overrides, replay.policy));
  }, [replay]);
  return { pending: session !== null && !source.error, error: session === null ? null : source.error };
}
