import { useDebouncedValue } from "@mantine/hooks";
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { transcriptQuery, windowOf } from "@/api/runs/transcripts";
import type { Transcript, TranscriptStep } from "@/api/schema";

/** Windows that only pass by while scrolling are not requested. */
const PAUSE_MS = 90;

export interface LoadedTurns {
  turns: ReadonlyMap<number, TranscriptStep>;
  redactions: Readonly<Record<string, string>>;
  error: Error | null;
}

/** The turns of the steps on the screen or on paper, and of those in the same windows. */
export function useTranscript(run: string, sequenceNos: readonly number[], isPaper: boolean): LoadedTurns {
  const key = useMemo(() => {
    const windows = new Set(sequenceNos.map((number) => windowOf(number)));
    return [...windows].sort((first, second) => first - second).join(",");
  }, [sequenceNos]);
  const [settledKey] = useDebouncedValue(key, PAUSE_MS, { leading: true });
  // Paper shows what was loaded before it.
  const current = isPaper ? key : settledKey;
  const windows = useMemo(() => (current === "" ? [] : current.split(",").map(Number)), [current]);
  return useQueries({ queries: windows.map((window) => transcriptQuery(run, window)), combine: merge });
}

function merge(results: readonly { data: Transcript | undefined; error: Error | null }[]): LoadedTurns {
  const turns = new Map<number, TranscriptStep>();
  let redactions: Record<string, string> = {};
  for (const { data } of results) {
    for (const step of data?.steps ?? []) turns.set(step.sequence_no, step);
    redactions = { ...redactions, ...data?.redactions };
  }
  return { turns, redactions, error: results.find(({ error }) => error)?.error ?? null };
}
