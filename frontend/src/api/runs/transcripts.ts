import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { Transcript } from "@/api/schema";

/** Steps per request: a few screens of a conversation. */
export const TRANSCRIPT_WINDOW = 50;
/** The window of a step. */
export const windowOf = (sequenceNo: number): number => Math.floor((sequenceNo - 1) / TRANSCRIPT_WINDOW);
/** Characters of a text that is shown as a whole; the server sends no more. */
const WHOLE_LENGTH = 1_000_000;

const read = (run: string, query: Record<string, string>, signal: AbortSignal): Promise<Transcript> =>
  answer(api.GET("/api/v1/runs/{id}/transcript", { params: { path: { id: run }, query }, signal }));

/** The turns of one window of steps, from 0 on. */
export const transcriptQuery = (run: string, window: number) =>
  queryOptions({
    queryKey: ["transcript", run, window],
    queryFn: ({ signal }) => {
      const query = { after: String(window * TRANSCRIPT_WINDOW), limit: String(TRANSCRIPT_WINDOW) };
      return read(run, query, signal);
    },
    staleTime: Infinity,
  });

/** The turns of one step with its whole texts. */
export const wholeTurnsQuery = (run: string, sequenceNo: number) =>
  queryOptions({
    queryKey: ["transcript", run, "whole", sequenceNo],
    queryFn: ({ signal }) =>
      read(run, { after: String(sequenceNo - 1), limit: "1", length: String(WHOLE_LENGTH) }, signal),
    staleTime: Infinity,
  });
