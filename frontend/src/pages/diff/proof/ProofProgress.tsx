import { Loader } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { cancelProof, proofsQuery } from "@/api/diffs/proofs";
import type { ProofView } from "@/api/schema";
import { count, pluralize, money } from "@/ui/format/numbers";
import { StopButton } from "@/ui/StopButton";
import { FindingsView } from "./FindingsView";
import { stageWords } from "./wording";
import classes from "./ProofPanel.module.css";

/** The progress and intermediate findings of a running proof. */
export function ProofProgress({ proof }: { proof: ProofView }): ReactElement {
  const { progress, findings } = proof;
  const share = progress.expected > 0 ? Math.min(1, progress.probes / progress.expected) : 0;
  return (
    <>
      <div className={classes.progress} role="status">
        <Loader size={16} aria-hidden />
        <div className="grow">
          <b>{proof.status === "pending" ? "Waiting for a worker" : sentence(stageWords(progress))}</b>
          <span className="muted num">
            {count(progress.probes)} of at most {pluralize(progress.expected, "replay")}
            {progress.live_calls > 0 && `, ${pluralize(progress.live_calls, "live call")}`}
            {progress.cost_usd !== null && progress.cost_usd > 0 && `, ${money(progress.cost_usd)}`}
          </span>
          <div
            className={classes.track}
            role="progressbar"
            aria-label="Replays"
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={Math.round(share * 100)}
          >
            <i style={{ width: `${share * 100}%` }} />
          </div>
        </div>
        <Stop proof={proof} />
      </div>
      {findings && findings.probes.length > 0 && <FindingsView findings={findings} isPartial />}
    </>
  );
}

function Stop({ proof }: { proof: ProofView }): ReactElement {
  const client = useQueryClient();
  return (
    <StopButton
      stop={() => cancelProof(proof.id)}
      onStopped={() => client.invalidateQueries({ queryKey: proofsQuery(proof.diff).queryKey })}
      failureTitle="The proof was not stopped"
    >
      Stop
    </StopButton>
  );
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
