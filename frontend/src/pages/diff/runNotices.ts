import type { DiffReport, NewerRevision } from "@/api/schema";
import type { Side } from "./reportContext";

interface DeletionNotice {
  side: Side;
  run: string;
  time: string;
}

/** The compared runs that were deleted, while their contents still exist. */
export function deletionNotices(report: Pick<DiffReport, "base" | "candidate" | "deletions">): DeletionNotice[] {
  const sides: Side[] = ["base", "candidate"];
  return sides.flatMap((side) => {
    const time = report.deletions?.[side];
    return time ? [{ side, run: report[side].id, time }] : [];
  });
}

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
