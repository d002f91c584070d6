import { UnstyledButton } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { pluralize } from "@/ui/format/numbers";
import { ConfidenceLevel } from "@/features/diffs/ConfidenceLevel";
import { RunnerWait } from "@/features/runners/RunnerWait";
import { ProofControl } from "../proof/ProofControl";
import { ProofResult } from "../proof/ProofResult";
import { useProofs, type ProofState } from "../proof/useProofs";
import { useReport } from "../reportContext";
import { headlineOf } from "../wording";
import { Answers } from "./Answers";
import { Figures } from "./Figures";
import { VerdictDetails } from "./VerdictDetails";
import classes from "./Verdict.module.css";

/** The verdict: what changed, what it did, and how sure that is. A proof of it runs in the same card. */
export function Verdict(): ReactElement {
  const { report, hasLinks } = useReport();
  return hasLinks ? <OwnVerdict /> : <Card proofs={{ running: null, failure: "", evidence: report.evidence }} />;
}

function OwnVerdict(): ReactElement {
  return <Card proofs={useProofs()} hasControl />;
}

function Card({ proofs, hasControl = false }: { proofs: ProofState; hasControl?: boolean }): ReactElement {
  const { attribution, summary, brief } = useReport().report;
  const [isOpen, setOpen] = useState(false);
  const { cause, effect } = headlineOf(attribution, summary);
  const hasDifference = attribution.verdict !== "no_difference";
  const hasResult = proofs.running !== null || proofs.evidence.length > 0;
  return (
    <section className={`panel ${classes.verdict}`} aria-label="Verdict">
      <div className={classes.top}>
        <h2 className={classes.headline} data-long={(cause + effect).length > LONG}>
          {cause && <b>{cause}</b>} {effect}
        </h2>
        <div className={classes.side}>
          {attribution.confidence ? (
            <ConfidenceLevel confidence={attribution.confidence} {...(proofs.running && { note: ", so far" })} />
          ) : (
            brief && <span className={classes.certainty}>{brief.confidence}</span>
          )}
          {hasControl && (hasDifference || hasResult) && <ProofControl proofs={proofs} />}
        </div>
      </div>
      {proofs.failure && !proofs.running && (
        <p className="failed" role="alert">
          The last proof failed: {proofs.failure}
        </p>
      )}
      {proofs.running && <RunnerWait text={proofs.running.waits_for} />}
      {hasResult && <ProofResult proofs={proofs} />}
      <Answers />
      {brief && !hasResult && (
        <p className={classes.why}>
          <b>{reasonTitle(attribution.confidence)}</b> {brief.why}
        </p>
      )}
      <footer className={classes.foot}>
        <Figures />
        <UnstyledButton className={classes.more} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Hide details" : evidenceWords(attribution.evidence.length)}
        </UnstyledButton>
      </footer>
      {isOpen && <VerdictDetails />}
    </section>
  );
}

/** A longer headline is set in a smaller font. */
const LONG = 150;

function reasonTitle(confidence: string | null): string {
  return confidence === null || confidence === "noise" ? "Why?" : `Why ${confidence}?`;
}

function evidenceWords(count: number): string {
  return count > 0 ? `Show evidence (${count})` : `Show ${pluralize(count, "detail").replace(/^0 /, "")}`;
}
