/** The third lane: differences that a control replay shows without the changes. */
import type { DiffReport, LaneStep } from "@/api/schema";

const DIFFERS: ReadonlySet<LaneStep["without_changes"]> = new Set(["changed", "removed"]);

/** Ids of the base's steps whose output differs in a control replay. */
export function stepsChangedByReplay(report: Pick<DiffReport, "unchanged">): ReadonlySet<string> {
  const steps = report.unchanged?.steps ?? [];
  return new Set(steps.filter(({ without_changes }) => DIFFERS.has(without_changes)).map(({ base }) => base.id));
}
