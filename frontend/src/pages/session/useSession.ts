import { keepPreviousData, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useReducer } from "react";
import { useLive, type LiveState as Connection } from "@/api/live";
import { readSteps, sessionQuery } from "@/api/replays/replays";
import type { SessionView, StepSummary } from "@/api/schema";
import { applyLive, EMPTY, type LiveState } from "./liveState";
import { isOver } from "@/domain/replays/status";
import { mergeSteps } from "./steps/sessionRows";

export interface SessionFollowed {
  session: SessionView | undefined;
  error: Error | null;
  retry: () => void;
  live: LiveState;
  steps: readonly StepSummary[];
  connection: Connection;
}

/** A replay session as it happens. The socket tells the whole story from the start, so a reload loses nothing. */
export function useSession(id: string): SessionFollowed {
  const { data, error, refetch } = useQuery(sessionQuery(id));
  const [live, apply] = useReducer(applyLive, EMPTY);
  const connection = useLive(data ? { replay: id } : null, apply);
  const session = live.session ?? data;
  const steps = useSteps(session, live.lastStep);
  return { session, error, retry: () => void refetch(), live, steps, connection };
}

const NO_STEPS: readonly StepSummary[] = [];

/** The derived run's steps, read as they become readable, and once more whole when nothing will move any more. */
function useSteps(session: SessionView | undefined, lastStep: number): readonly StepSummary[] {
  const client = useQueryClient();
  const run = session?.run ?? "";
  const until = session && isOver(session) ? Number.MAX_SAFE_INTEGER : lastStep;
  const { data } = useQuery({
    queryKey: ["replay steps", run, until],
    queryFn: () => readOn(client, run, until),
    enabled: run !== "" && until > 0,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 0,
  });
  return data ?? NO_STEPS;
}

async function readOn(client: QueryClient, run: string, until: number): Promise<StepSummary[]> {
  const key = ["replay steps", run];
  if (until === Number.MAX_SAFE_INTEGER) return readSteps(run, 0, until);
  const known = client.getQueryData<StepSummary[]>(key) ?? [];
  const fresh = await readSteps(run, known.at(-1)?.sequence_no ?? 0, until);
  return client.setQueryData<StepSummary[]>(key, (now) => mergeSteps(now ?? [], fresh)) ?? fresh;
}
