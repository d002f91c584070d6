import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { Engine, UninterceptedTool } from "@/api/schema";

/** Runners have no live messages: their beats are frequent, and few pages show them. */
export const RUNNER_POLL_MS = 3_000;

/** Whether replays that run may come to wait for a runner. */
export function needsRunner({ status, request }: { status: string; request: { engine: Engine } }): boolean {
  return status === "running" && request.engine === "agent";
}

/**
 * How often to read a plan again: runners come and go, and with them the consent to tools that nothing intercepts.
 * A review as safe holds for each of them.
 */
export function consentPoll({
  state,
}: {
  state: { data?: { unintercepted_tools: readonly UninterceptedTool[] } };
}): number | false {
  return state.data?.unintercepted_tools.some(({ consent }) => consent !== "review") ? RUNNER_POLL_MS : false;
}

/** The runners of an app, or of all apps. Read again and again while they are shown. */
export const runnersQuery = (app?: string) =>
  queryOptions({
    queryKey: ["runners", app ?? null],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/runners", { params: { query: app === undefined ? {} : { app } }, signal })),
    refetchInterval: RUNNER_POLL_MS,
    staleTime: 0,
  });

/** What the agent of a replay printed. `revision`: the live message after which it is read. */
export const outputQuery = (session: string, revision: string) =>
  queryOptions({
    queryKey: ["replay output", session, revision],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/replays/{id}/output", { params: { path: { id: session } }, signal })),
    placeholderData: (previous) => previous,
    staleTime: Infinity,
    gcTime: 60_000,
  });
