// When a run started. A recording without times has only the time at which it was added.
import type { RunSummary } from "@/api/schema";
import { fullTime, timeAgo } from "@/ui/format/numbers";

type TimeSource = Pick<RunSummary, "started_at" | "created_at">;

export function startWords({ started_at: start, created_at: arrival }: TimeSource): string {
  return start === null ? `added ${timeAgo(arrival)}` : timeAgo(start);
}

/** The exact time, for tooltips. */
export function startTitle({ started_at: start, created_at: arrival }: TimeSource): string {
  return start === null ? `Added ${fullTime(arrival)}; the recording has no time` : fullTime(start);
}
