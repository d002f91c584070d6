import type { ReactElement } from "react";
import type { JudgementName } from "@/api/schema";
import { agreementWords } from "./draft";
import classes from "./Outcomes.module.css";
import { PanelHead } from "@/ui/Page";

/** How far automatic judgements agree with those of people on the same runs. */
export function Agreements({ names }: { names: readonly JudgementName[] }): ReactElement | null {
  const entries = names.filter(({ agreement }) => agreement);
  if (entries.length === 0) return null;
  return (
    <section className="panel" aria-label="Agreement with people">
      <PanelHead>
        <h2>Agreement with people</h2>
        <span className="muted">
          On the runs that a person passed or failed, too. Cohen’s κ is 1 for full agreement, 0 for chance.
        </span>
      </PanelHead>
      <ul className={classes.rows}>
        {entries.map((entry) => (
          <li key={`${entry.source} ${entry.name}`}>{agreementWords(entry)}</li>
        ))}
      </ul>
    </section>
  );
}
