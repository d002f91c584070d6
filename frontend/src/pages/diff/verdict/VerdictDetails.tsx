import type { ReactElement } from "react";
import { score } from "@/domain/diffs/score";
import { useReport } from "../reportContext";
import classes from "./Verdict.module.css";

/** The whole verdict in sentences, with its evidence. */
export function VerdictDetails(): ReactElement {
  const { attribution, observed, brief, evidence, scores } = useReport().report;
  return (
    <div className={classes.details}>
      {attribution.evidence.length > 0 && (
        <ul aria-label="Evidence">
          {attribution.evidence.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      <dl>
        <dt>In full</dt>
        <dd>{attribution.sentence}</dd>
        {brief && (
          <>
            {evidence.length > 0 && (
              <>
                <dt>Confidence</dt>
                <dd>{brief.why}</dd>
              </>
            )}
            <dt>Compared</dt>
            <dd>{brief.compared}</dd>
            <dt>Next</dt>
            <dd>{brief.next}</dd>
          </>
        )}
        {observed && (
          <>
            <dt>Before the proof</dt>
            <dd>
              The recordings alone suggested, with {observed.confidence ?? "no"} confidence: {observed.sentence}
            </dd>
          </>
        )}
        <dt>Overall similarity</dt>
        <dd>
          {score(scores.ars)} (ARS, {scores.ars_reading}): 0.7 × answer similarity + 0.3 × tool accuracy
        </dd>
      </dl>
    </div>
  );
}
