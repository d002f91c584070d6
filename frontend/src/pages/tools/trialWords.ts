import type { TrialView } from "@/api/schema";
import { counted } from "@/components/format";
import type { Mark } from "@/components/labels";
import { readDocuments } from "@/pages/run/step/content";

/** How a trial went, in a word or two. */
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
      const found = trial.kind === "retrieval" ? readDocuments(trial.output) : null;
      return { mark: "exact", words: found ? counted(found.length, "document") : "answered" };
    }
    default:
      return trial.status satisfies never;
  }
}
