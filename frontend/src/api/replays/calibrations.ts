import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { SetIgnoreList } from "@/api/schema";

export function calibrate(base: string, candidate: string) {
  return answer(api.POST("/api/v1/calibrations", { body: { base, candidate } }));
}

/** Let a runner start the agent of a run twice, and compare both runs. */
export function calibrateAgent(run: string) {
  return answer(api.POST("/api/v1/runs/{id}/calibrate", { params: { path: { id: run } } }));
}

/** The progress of a calibration by an agent. It has no live messages. */
export const agentCalibrationQuery = (calibration: string) =>
  queryOptions({
    queryKey: ["agent calibration", calibration],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/calibrations/by-agent/{id}", { params: { path: { id: calibration } }, signal })),
    staleTime: 0,
    refetchInterval: (query) => (query.state.data?.status === "running" ? 1_000 : false),
  });

export const calibrationsQuery = queryOptions({
  queryKey: ["calibrations"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/calibrations", { signal })),
  staleTime: 0,
});

export async function deleteCalibration(id: string): Promise<void> {
  await api.DELETE("/api/v1/calibrations/{id}", { params: { path: { id } } });
}

export const calibrationQuery = (calibration: string) =>
  queryOptions({
    queryKey: ["calibration", calibration],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/calibrations/{id}", { params: { path: { id: calibration } }, signal })),
    staleTime: 0,
  });

/** All versions of an app's ignore list. Polled until the newest is ready. */
export const ignoreListsQuery = (app: string) =>
  queryOptions({
    queryKey: ["ignore-lists", app],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/ignore-lists", { params: { query: { app } }, signal })),
    refetchInterval: (query) => (query.state.data?.lists[0]?.ready_at === null ? 1_000 : false),
  });

export function acceptProposals(calibration: string, proposals: number[]) {
  return answer(
    api.POST("/api/v1/calibrations/{id}/accept", { params: { path: { id: calibration } }, body: { proposals } }),
  );
}

export function setIgnoreList(body: SetIgnoreList) {
  return answer(api.POST("/api/v1/ignore-lists", { body }));
}
