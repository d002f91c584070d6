import type { DiffReport, NewerRevision } from "@/api/schema";
import type { Side } from "./reportContext";

interface RevisionNotice {
  side: Side;
  newer: NewerRevision;
}

/** Newer revisions of the compared runs, except one that the report compares itself. */
export function revisionNotices(report: Pick<DiffReport, "base" | "candidate" | "newer_revisions">): RevisionNotice[] {
  const sides: Side[] = ["base", "candidate"];
  const ids = [report.base.id, report.candidate.id];
  return sides.flatMap((side) => {
    const newer = report.newer_revisions?.[side];
    return newer && !ids.includes(newer.id) ? [{ side, newer }] : [];
  });
}
