import type { ReactElement } from "react";
import type { Findings } from "@/api/schema";
import { useReport } from "../reportContext";
import { dotsLabel, outcomeNames, testRows } from "./dots";
import classes from "./TestRows.module.css";

/** Every test of a proof as a row of dots: filled is the new answer, open the recorded one. */
export function TestRows({ findings }: { findings: Findings }): ReactElement | null {
  const { report } = useReport();
  const names = outcomeNames(findings, report.candidate.source_run === report.base.id);
  const rows = testRows(findings, names);
  if (rows.length === 0) return null;
  const hasOther = rows.some(({ dots }) => dots.includes("other"));
  return (
    <>
      <ul className={classes.tests} aria-label="Tests">
        {rows.map(({ title, dots, words }) => (
          <li key={title}>
            <b>{title}</b>
            <span className={classes.dots} role="img" aria-label={dotsLabel(dots, names)}>
              {dots.map((dot, index) => (
                <i key={index} data-outcome={dot} />
              ))}
            </span>
            <span className="muted num">{words}</span>
          </li>
        ))}
      </ul>
      <p className={classes.key} aria-hidden>
        <i data-outcome="base" /> {names.base}
        <i data-outcome="candidate" /> {names.candidate}
        {hasOther && (
          <>
            <i data-outcome="other" /> something else
          </>
        )}
      </p>
    </>
  );
}
