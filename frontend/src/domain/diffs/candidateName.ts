import type { DiffReport } from "@/api/schema";
import { shortId } from "@/ui/format/numbers";

/** The name of a candidate: where it was forked, or its id if it has the same name as the base. */
export function candidateName({ base, candidate }: Pick<DiffReport, "base" | "candidate">): string {
  if (candidate.source_run === base.id && candidate.fork_sequence_no !== null) {
    return `fork from step ${candidate.fork_sequence_no}`;
  }
  return candidate.name === base.name ? `run ${shortId(candidate.id)} of the same name` : candidate.name;
}
