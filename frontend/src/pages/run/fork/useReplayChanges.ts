import { useQuery } from "@tanstack/react-query";
import { useEffect, useEffectEvent } from "react";
import { sessionQuery } from "@/api/replays/replays";
import type { Engine } from "@/api/schema";
import { draftOf, type Draft } from "@/domain/overrides/draft";
import type { Fork } from "./useFork";

export interface ReplayChanges {
  /** The replay's changes are being loaded into the draft. */
  pending: boolean;
  error: Error | null;
}

/** Load a replay's changes into the draft once, then call `onLoad`. */
export function useReplayChanges(
  session: string | null,
  fork: Pick<Fork, "change" | "changeEngine">,
  onLoad: () => void,
): ReplayChanges {
  const source = useQuery({ ...sessionQuery(session ?? ""), enabled: session !== null });
  const replay = session === null ? undefined : source.data;
  const fill = useEffectEvent((draft: Draft, engine: Engine) => {
    fork.change(draft);
    fork.changeEngine(engine);
    onLoad();
  });
  useEffect(() => {
    if (replay) fill(draftOf(replay.overrides.overrides, replay.policy), replay.engine);
  }, [replay]);
  return { pending: session !== null && !source.error, error: session === null ? null : source.error };
}
