// Entries of the audit log in words.
import type { AuditEntryView } from "@/api/schema";

/** What was done; the subject is shown beside it. */
export function auditWords({ action, detail }: AuditEntryView): string {
  switch (action) {
    case "run_deleted":
      return text(detail["reason"]) ? `Deleted by ${text(detail["reason"])}` : "Deleted";
    case "run_restored":
      return "Restored";
    case "run_removed":
      return "Contents removed";
    case "run_marked":
      return markWords(detail);
    case "run_renamed":
      return "Name or note changed";
    case "deletion_refused":
      return `Kept after all: ${text(detail["problem"])}`;
    case "purge":
      return "Purged";
    case "retention_policy_set":
      return `Policy set: ${policyWords(detail)}`;
    case "retention_policy_removed":
      return "Policy removed";
    case "share_created":
      return `Shared a ${text(detail["kind"])} with ${text(detail["audience"]).replaceAll("_", " ")}`;
    case "share_revoked":
      return `Link to a ${text(detail["kind"])} revoked`;
    default:
      return action.replaceAll("_", " ");
  }
}

/** Whether the entry is about a run, whose id is its subject. */
export function isAboutRun({ action }: AuditEntryView): boolean {
  return action.startsWith("run_") || action === "deletion_refused";
}

function markWords(detail: AuditEntryView["detail"]): string {
  const words = [
    ...(typeof detail["is_pinned"] === "boolean" ? [detail["is_pinned"] ? "Pinned" : "Unpinned"] : []),
    ...(typeof detail["is_held"] === "boolean"
      ? [detail["is_held"] ? "Put under legal hold" : "Legal hold ended"]
      : []),
  ];
  return words.join(", ") || "Marks unchanged";
}

function policyWords(detail: AuditEntryView["detail"]): string {
  const days = detail["days"];
  return [
    typeof days === "number" ? `${days} days` : "forever",
    ...(detail["keep_pinned"] === false ? ["pinned runs, too"] : []),
    ...(detail["legal_hold"] === true ? ["legal hold"] : []),
  ].join(", ");
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
