import type { DiffReport } from "@/api/schema";
import { shortId } from "@/ui/format/numbers";

/** A fork says where it forked, a run of the same name which one it is: the bare name would repeat that of the base. */
export function candidateName({ base, candidate }: Pick<DiffReport, "base" | "candidate">): string {
  if (candidate.source_run === base.id && candidate.fork_sequence_no !== null) {
    return `fork from step ${candidate.fork_sequence_no}`;
  }
  return candidate.name === base.name ? `run ${shortId(candidate.id)} of the same name` : candidate.name;
}
