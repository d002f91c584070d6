import type { DiffReport, DiffSummary } from "@/api/schema";
import { runTitle } from "@/domain/runs/title";

type Sides = Pick<DiffReport | DiffSummary, "base" | "candidate" | "captions">;

/** The name of a base: the one that users gave it, what it changes, or its recorded name. */
export function baseName({ base, captions }: Sides): string {
  return captions ? runTitle({ ...captions.base, name: base.name }) : base.name;
}

/** The name of a candidate, which differs from the base's: what it changes, if it has no other. */
export function candidateName(report: Sides): string {
  const { base, candidate, captions } = report;
  const name = captions ? runTitle({ ...captions.candidate, name: candidate.name }) : candidate.name;
  if (name !== baseName(report)) return name;
  if (candidate.source_run === base.id && candidate.fork_sequence_no !== null) {
    return `fork from step ${candidate.fork_sequence_no}`;
  }
  return "another run of the same name";
}
