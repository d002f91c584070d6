// Descriptions of runners where an engine is chosen.
import type { RunnerView } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";

/** "desk-1 on laptop", "One of 3 runners". */
export function runnersWords(runners: readonly RunnerView[]): string {
  const [only] = runners;
  if (!only || runners.length > 1) return `One of ${pluralize(runners.length, "runner")}`;
  const place = only.host && only.host !== only.name ? `${only.name} on ${only.host}` : only.name;
  return only.busy >= only.capacity ? `${place} (busy: the replay waits)` : place;
}
