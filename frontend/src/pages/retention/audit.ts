// Entries of the audit log in words.
import type { AuditEntryView } from "@/api/schema";

/** What was done; the subject is shown beside it. */
export function auditWords({ action, detail }: AuditEntryView): string {
  switch (action) {
    case "runs_imported":
      return "Imported";
    case "run_exported":
      return detail["to"] === "bundle" ? "Exported as a bundle" : `Exported to ${text(detail["to"])}`;
    case "replay_answered":
    case "rerun_answered":
      return typeof detail["step"] === "number" ? `Question about step ${detail["step"]} answered` : "Answered";
    case "tool_reviewed":
      return toolWords(detail["safe"]);
    case "trial_started":
      return detail["kind"] === "tool" ? "Tool called as a trial" : "Search made as a trial";
    case "name_set":
      return `Saved as the name of a ${text(detail["kind"])}`;
    case "name_removed":
      return `No longer the name of a ${text(detail["kind"])}`;
    case "token_created":
      return `Token “${text(detail["name"])}” created with the role ${text(detail["role"])}`;
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
      return sentenceCase(action.replaceAll("_", " "));
  }
}

function sentenceCase(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

type Page = "run" | "replay" | "diff" | "tree" | "experiment" | "bisection";

const PAGES: Record<string, Page> = {
  runs_imported: "run",
  deletion_refused: "run",
  replay_started: "replay",
  replay_answered: "replay",
  diff_created: "diff",
  experiment_started: "experiment",
  bisection_started: "bisection",
};

const SHARED_PAGES: Record<string, Page> = {
  run: "run",
  tree: "tree",
  replay: "replay",
  diff: "diff",
  experiment: "experiment",
};

/** The page that shows the subject, or the report of a proof; null if there is none. */
export function pageOf({ action, subject, detail }: AuditEntryView): { page: Page; id: string } | null {
  // An import of several runs names none of them.
  if (subject.includes(" ")) return null;
  if (action === "proof_started") return { page: "diff", id: text(detail["diff"]) };
  const page = action.startsWith("run_")
    ? "run"
    : action.startsWith("share_")
      ? SHARED_PAGES[text(detail["kind"])]
      : PAGES[action];
  return page === undefined ? null : { page, id: subject };
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

function toolWords(safe: unknown): string {
  if (typeof safe !== "boolean") return "Review of a tool withdrawn";
  return safe ? "Tool reviewed as safe" : "Tool reviewed as a side effect";
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
