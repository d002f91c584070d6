import type { TrialView } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import type { Mark } from "@/domain/steps/labels";
import { readDocuments } from "@/domain/steps/content";

/** The state of a trial, in a word or two. */
export function trialWords(trial: Pick<TrialView, "kind" | "status" | "output" | "output_status">): {
  mark: Mark;
  words: string;
} {
  switch (trial.status) {
    case "pending":
      return { mark: "live", words: "waiting" };
    case "running":
      return { mark: "live", words: "under way" };
    case "failed":
      return { mark: "failed", words: "no answer" };
    case "succeeded": {
      if (trial.output_status === "error") return { mark: "failed", words: "answered with an error" };
      const documents = trial.kind === "retrieval" ? readDocuments(trial.output) : null;
      return { mark: "exact", words: documents ? pluralize(documents.length, "document") : "answered" };
    }
    default:
      return trial.status satisfies never;
  }
}
