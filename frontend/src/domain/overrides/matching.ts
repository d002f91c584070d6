// Which steps an override applies to, as the server decides it.
import type { Override, StepSummary } from "@/api/schema";

/** A shell pattern: `*`, `?`, `[abc]` and `[!abc]`, with upper and lower case told apart. Null matches all texts. */
export function matchesGlob(glob: string | null, text: string): boolean {
  if (glob === null || glob === text) return true;
  const source = glob.replace(/\*+|\?|\[(!?)(\]?[^\]]*)\]|[\s\S]/g, (part, negation?: string, set?: string) => {
    if (part.startsWith("*")) return "[^]*";
    if (part === "?") return "[^]";
    if (set !== undefined) return `[${negation ? "^" : ""}${set.replace(/[\\\]^[]/g, "\\$&")}]`;
    return part.replace(/[\\^$.|+()[\]{}]/g, "\\$&");
  });
  try {
    return new RegExp(`^${source}$`, "u").test(text);
  } catch {
    // A set such as [z-a], which matches nothing.
    return false;
  }
}

/** Whether an override changes a step; its number must also be one that the fork reaches. */
export function matchesStep({ match, prompt }: Pick<Override, "match" | "prompt">, step: StepSummary): boolean {
  if (match.step !== null) return match.step === step.sequence_no || match.step === step.id;
  const { since, before } = match;
  return (
    step.type === (match.type ?? (prompt ? "model" : step.type)) &&
    (since === null || step.sequence_no >= since) &&
    (before === null || step.sequence_no < before) &&
    matchesGlob(match.name, step.name) &&
    matchesGlob(match.model, step.model)
  );
}
