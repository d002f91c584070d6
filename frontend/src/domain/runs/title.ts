/** Words by which people recognise runs and forks. */
import type { Caption, ForkChange } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";

type NameSource = Pick<Caption, "title" | "change"> & { name: string };

/** The name that users gave a run, else the change of a fork, else the recorded name. */
export function runTitle({ title, change, name }: NameSource): string {
  return title || (change ? changeWords(change) : name);
}

/** A change in one line: the first one, and the number of others. */
export function changeWords({ text, count }: ForkChange): string {
  return count > 1 ? `${text} and ${pluralize(count - 1, "more change")}` : text;
}

/** Like `runTitle`, and the recorded name behind it, for a list in which nothing else names the source. */
export function fullTitle(run: NameSource): string {
  const title = runTitle(run);
  return title === run.name ? title : `${title} · ${run.name}`;
}

/** Where a fork starts and what it changes there: `from step 5 · system prompt`. */
export function forkPlace({ change }: Pick<Caption, "change">, step: number | null): string {
  return [`from step ${step ?? 1}`, change?.target].filter(Boolean).join(" · ");
}
