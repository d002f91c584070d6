import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { IconFlask, IconRosetteDiscountCheck } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { cancelProof, proofPlanQuery, proofsQuery } from "@/api/diffs/proofs";
import type { ProofView } from "@/api/schema";
import { KeyHint } from "@/ui/keyboard/Kbd";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { StopButton } from "@/ui/buttons/StopButton";
import { useReport } from "../reportContext";
import { FIRST_DRAFT, toProof } from "./draft";
import { ProveDialog } from "./dialog/ProveDialog";
import type { ProofState } from "./useProofs";
import { effortWords, planWords, progressWords, strongestEvidence } from "./wording";
import classes from "./ProofControl.module.css";

/** Starts a proof, with its price beside it; stops one that runs; else says what the last one took. */
export function ProofControl({ proofs }: { proofs: ProofState }): ReactElement {
  const { report } = useReport();
  const [isOpen, dialog] = useDisclosure(false);
  useShortcuts("Report", [{ keys: "p", action: "Prove the cause by replaying", run: dialog.open }]);
  const best = strongestEvidence(proofs.evidence);
  return (
    <>
      {proofs.running ? (
        <Running proof={proofs.running} />
      ) : best ? (
        <>
          {best.confidence === "high" && (
            <span className="chip">
              <IconRosetteDiscountCheck size={14} aria-hidden /> Proven
            </span>
          )}
          <Button variant="default" onClick={dialog.open}>
            Run another proof
          </Button>
          <small className={`${classes.note} num`}>{effortWords(best)}</small>
        </>
      ) : (
        <Offer onOpen={dialog.open} />
      )}
      {isOpen && <ProveDialog diff={report.id} app={report.base.app} onClose={dialog.close} />}
    </>
  );
}

function Offer({ onOpen }: { onOpen: () => void }): ReactElement {
  const { report } = useReport();
  const hasQuestion = !["no_difference", "no_effect"].includes(report.attribution.verdict);
  const { data: plan } = useQuery({ ...proofPlanQuery(report.id, toProof(FIRST_DRAFT)), enabled: hasQuestion });
  return (
    <>
      <Button
        variant={hasQuestion ? "filled" : "default"}
        leftSection={<IconFlask size={14} stroke={2} aria-hidden />}
        rightSection={<KeyHint>p</KeyHint>}
        aria-keyshortcuts="p"
        className={classes.prove ?? ""}
        onClick={onOpen}
      >
        Prove it
      </Button>
      {plan && plan.refusals.length === 0 && <small className={`${classes.note} num`}>{planWords(plan)}</small>}
    </>
  );
}

function Running({ proof }: { proof: ProofView }): ReactElement {
  const client = useQueryClient();
  const { progress } = proof;
  return (
    <>
      <StopButton
        stop={() => cancelProof(proof.id)}
        onStopped={() => client.invalidateQueries({ queryKey: proofsQuery(proof.diff).queryKey })}
        failureTitle="The proof was not stopped"
      >
        Stop
      </StopButton>
      {progress.expected > 0 && <small className={`${classes.note} num`}>{progressWords(progress)}</small>}
    </>
  );
}
