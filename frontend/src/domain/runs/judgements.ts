// Names of judgements' sources and kinds.
import type { JudgementView } from "@/api/schema";

export const SOURCES: Record<JudgementView["source"], string> = {
  person: "person",
  check: "check",
  import: "imported",
  validator: "validator",
  model: "model",
  tag: "tag",
};

export const KINDS: Record<JudgementView["kind"], string> = {
  pass: "passed",
  fail: "failed",
  score: "score",
  note: "note",
  not_run: "did not run",
};
