import type { RunSummary } from "@/api/schema";

/** The origin of a run: the format of an import, or how it was created here. */
export function originOf(run: Pick<RunSummary, "source" | "format">): string {
  return run.source === "import" && run.format ? run.format : run.source;
}
