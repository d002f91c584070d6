import type { ExperimentRowView } from "@/api/schema";
import type { ChipMark } from "@/features/labels/StateChip";

/** The state of a row and its mark. */
export function rowWords(row: ExperimentRowView): { title: string; mark: ChipMark } {
  switch (row.status) {
    case "pending":
      return { title: row.queued ? "Queued" : "Waiting", mark: "live" };
    case "running":
      return { title: `${row.resolved_steps} of ${Math.max(row.planned_steps, row.resolved_steps)}`, mark: "accent" };
    case "awaiting_operator":
      return { title: "Waiting for you", mark: "simulated" };
    case "completed_exact":
      return { title: "Exact", mark: "exact" };
    case "completed_mixed":
    case "completed_simulated":
      return { title: "Done", mark: "done" };
    case "cancelled":
      return { title: "Cancelled", mark: "live" };
    case "failed_validation":
    case "failed_execution":
      return { title: "Failed", mark: "failed" };
  }
}
