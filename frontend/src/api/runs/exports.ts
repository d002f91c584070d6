import { answer, api } from "@/api/client";

/** One file with the bundles of the runs. The browser keeps large ones on disk. */
export function exportRuns(runs: string[]): Promise<Blob> {
  return answer(api.POST("/api/v1/runs/export", { body: { runs }, parseAs: "blob" }));
}
