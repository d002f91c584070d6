import { expect, test } from "vitest";
import type { AuditEntryView } from "@/api/schema";
import { auditWords, pageOf } from "./audit";

const entry = (action: string, detail: AuditEntryView["detail"] = {}): AuditEntryView => ({
  id: "a",
  at: "2026-11-20T10:00:00Z",
  by: "ada",
  action,
  subject: "s",
  detail,
  run_name: "",
});

test("words every action", () => {
  expect(auditWords(entry("run_deleted", { reason: "" }))).toBe("Deleted");
  expect(auditWords(entry("run_deleted", { reason: "retention of app desk: 30 days" }))).toBe(
    "Deleted by retention of app desk: 30 days",
  );
  expect(auditWords(entry("run_marked", { is_pinned: true, is_held: false }))).toBe("Pinned, Legal hold ended");
  expect(auditWords(entry("deletion_refused", { problem: "it is under legal hold" }))).toBe(
    "Kept after all: it is under legal hold",
  );
  expect(auditWords(entry("retention_policy_set", { days: 30, keep_pinned: false, legal_hold: true }))).toBe(
    "Policy set: 30 days, pinned runs, too, legal hold",
  );
  expect(auditWords(entry("retention_policy_set", { days: null }))).toBe("Policy set: forever");
  expect(auditWords(entry("some_new_action"))).toBe("Some new action");
  expect(auditWords(entry("run_exported", { to: "bundle" }))).toBe("Exported as a bundle");
  expect(auditWords(entry("replay_answered", { step: 4, answer: "run" }))).toBe("Question about step 4 answered");
  expect(auditWords(entry("tool_reviewed", { safe: null }))).toBe("Review of a tool withdrawn");
  expect(auditWords(entry("token_created", { name: "ada", role: "admin" }))).toBe(
    "Token “ada” created with the role admin",
  );
});

test("knows the pages of subjects", () => {
  const actions = ["run_marked", "deletion_refused", "runs_imported", "diff_created", "purge"];
  expect(actions.map((action) => pageOf(entry(action)))).toEqual([
    { page: "run", id: "s" },
    { page: "run", id: "s" },
    { page: "run", id: "s" },
    { page: "diff", id: "s" },
    null,
  ]);
  expect(pageOf({ ...entry("proof_started"), detail: { diff: "d" } })).toEqual({ page: "diff", id: "d" });
  expect(pageOf({ ...entry("runs_imported"), subject: "12 runs" })).toBeNull();
  expect(pageOf(entry("share_revoked", { kind: "tree" }))).toEqual({ page: "tree", id: "s" });
});
