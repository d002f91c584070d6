import { keepPreviousData, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useReducer } from "react";
import { useLive, type ConnectionState as Connection } from "@/api/live";
import { readSteps, sessionQuery } from "@/api/replays/replays";
import type { SessionView, StepSummary } from "@/api/schema";
import { applyLive, EMPTY, type LiveState } from "./liveState";
import { hasEnded } from "@/domain/replays/status";
import { mergeSteps } from "./mergeSteps";

export interface LiveSession {
  session: SessionView | undefined;
  error: Error | null;
  retry: () => void;
  live: LiveState;
  steps: readonly StepSummary[];
  connection: Connection;
}

/** A replay session with live updates. The socket replays all messages, so a reload loses nothing. Null: none yet. */
export function useSession(id: string | null): LiveSession {
  const { data, error, refetch } = useQuery({ ...sessionQuery(id ?? ""), enabled: id !== null });
  const [live, apply] = useReducer(applyLive, EMPTY);
  const connection = useLive(data && id !== null ? { replay: id } : null, apply);
  const session = live.session ?? data;
  const steps = useSteps(session, live.lastStep);
  return { session, error, retry: () => void refetch(), live, steps, connection };
}

const NO_STEPS: readonly StepSummary[] = [];

/** The derived run's steps: read as they become available, and again when the session ends. */
function useSteps(session: SessionView | undefined, lastStep: number): readonly StepSummary[] {
  const client = useQueryClient();
  const run = session?.run ?? "";
  const lastReadable = session && hasEnded(session) ? Number.MAX_SAFE_INTEGER : lastStep;
  const { data } = useQuery({
    queryKey: ["replay steps", run, lastReadable],
    queryFn: () => readNewSteps(client, run, lastReadable),
    enabled: run !== "" && lastReadable > 0,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 0,
  });
  return data ?? NO_STEPS;
}

async function readNewSteps(client: QueryClient, run: string, lastReadable: number): Promise<StepSummary[]> {
  const key = ["replay steps", run];
  if (lastReadable === Number.MAX_SAFE_INTEGER) return readSteps(run, 0, lastReadable);
  const knownSteps = client.getQueryData<StepSummary[]>(key) ?? [];
  const newSteps = await readSteps(run, knownSteps.at(-1)?.sequence_no ?? 0, lastReadable);
  return client.setQueryData<StepSummary[]>(key, (current) => mergeSteps(current ?? [], newSteps)) ?? newSteps;
}
