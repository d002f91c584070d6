import type { RunSummary } from "@/api/schema";

/** Where a run came from: the format of what was imported, else what made it here. */
export function originOf(run: Pick<RunSummary, "source" | "format">): string {
  return run.source === "import" && run.format ? run.format : run.source;
}
