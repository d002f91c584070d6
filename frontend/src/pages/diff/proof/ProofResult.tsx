import { Loader, SegmentedControl, Tooltip } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { Evidence, ProofView } from "@/api/schema";
import { sentence } from "@/ui/format/text";
import { FindingsView } from "./FindingsView";
import { TestRows } from "./TestRows";
import type { ProofState } from "./useProofs";
import { stageWords, strongestEvidence } from "./wording";
import classes from "./ProofResult.module.css";

/** The proof inside the verdict: its tests while it runs, and what they showed. */
export function ProofResult({ proofs }: { proofs: ProofState }): ReactElement {
  return (
    <section className={classes.proof} aria-label="Proof by replaying">
      {proofs.running ? <Progress proof={proofs.running} /> : <Answers evidence={proofs.evidence} />}
    </section>
  );
}

function Progress({ proof }: { proof: ProofView }): ReactElement {
  const { progress, findings } = proof;
  const share = progress.expected > 0 ? Math.min(1, progress.probes / progress.expected) : 0;
  return (
    <>
      <div
        className={classes.meter}
        role="progressbar"
        aria-label="Replays"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
      >
        <i style={{ width: `${share * 100}%` }} />
      </div>
      <p className={classes.stage} role="status">
        <Loader size={13} aria-hidden />
        {proof.status === "pending" ? "Waiting for a worker" : sentence(stageWords(progress))}
      </p>
      {findings && <TestRows findings={findings} />}
    </>
  );
}

/** The answer to each question that was tested, the strongest at first. */
function Answers({ evidence }: { evidence: readonly Evidence[] }): ReactElement | null {
  const best = strongestEvidence(evidence);
  const [selectedId, choose] = useState<string | null>(null);
  const selection = evidence.find(({ id }) => id === selectedId) ?? best;
  if (!selection) return null;
  return (
    <>
      {evidence.length > 1 && (
        <Tooltip label="Each question about the difference has its own answer">
          <SegmentedControl
            className={classes.questions ?? ""}
            aria-label="Question"
            value={selection.id}
            onChange={choose}
            data={evidence.map(({ id, question }) => ({ value: id, label: question.text }))}
          />
        </Tooltip>
      )}
      <TestRows findings={selection} />
      <FindingsView findings={selection} />
    </>
  );
}
