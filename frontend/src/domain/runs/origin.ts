import type { RunSource, RunStatus, RunSummary } from "@/api/schema";

export const ORIGINS: Readonly<Record<RunSource, string>> = {
  live: "captured",
  import: "imported",
  replay: "replay",
  probe: "probe",
  bundle: "bundle",
};

export const STATUSES: Readonly<Record<RunStatus, string>> = {
  running: "recording",
  completed: "completed",
  failed: "failed",
  partial: "end not recorded",
};

/** The origin of a run: the format of an import, or how it was created here. */
export function originOf(run: Pick<RunSummary, "source" | "format">): string {
  return run.source === "import" && run.format ? run.format : ORIGINS[run.source];
}
