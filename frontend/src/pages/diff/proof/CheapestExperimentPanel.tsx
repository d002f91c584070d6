import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconFlask } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { proofPlanQuery, type SparseProof } from "@/api/diffs/proofs";
import type { CheapestExperiment, Findings, UninterceptedTool } from "@/api/schema";
import { ToolConsent } from "@/features/runners/engine/ToolConsent";
import { useOnlineRunners } from "@/features/runners/engine/useOnlineRunners";
import { useReport } from "../reportContext";
import { toDecidingProof } from "./draft";
import { useProof } from "./useProof";
import { experimentCost } from "./wording";
import classes from "./FindingsView.module.css";

interface Props {
  findings: Findings;
  cheapest: CheapestExperiment;
}

/** The cheapest experiment that would decide the question, its cost, and a button to run it. */
export function CheapestExperimentPanel({ findings, cheapest }: Props): ReactElement {
  const { hasLinks, report } = useReport();
  const request = toDecidingProof(findings, cheapest);
  const canRun = hasLinks && cheapest.replays > 0;
  const start = useProof(report.id, request);
  const consent = useConsent(report.id, report.base.app, canRun && findings.agent_ran ? request : null);
  return (
    <>
      <span className={classes.cheapest}>
        {cheapest.text}
        {cheapest.replays > 0 && <span className="muted"> {experimentCost(cheapest)}</span>}
        {canRun && (
          <Button
            size="compact-xs"
            variant="default"
            leftSection={<IconFlask size={12} aria-hidden />}
            loading={start.isPending}
            disabled={consent.refusal !== null}
            title={consent.refusal ?? undefined}
            onClick={() => start.mutate()}
          >
            Run it
          </Button>
        )}
      </span>
      <ToolConsent app={report.base.app} tools={consent.tools} hasRunner={consent.hasRunner} />
    </>
  );
}

interface Consent {
  tools: readonly UninterceptedTool[];
  hasRunner: boolean;
  /** Why the proof cannot start. */
  refusal: string | null;
}

/** What the agent of a proof really runs, and whether it may start. Null: no agent runs. */
function useConsent(diff: string, app: string, request: SparseProof | null): Consent {
  const { data: plan } = useQuery({ ...proofPlanQuery(diff, request ?? {}), enabled: request !== null });
  const hasRunner = (useOnlineRunners(request === null ? null : app)?.length ?? 0) > 0;
  if (request === null) return { tools: [], hasRunner, refusal: null };
  const refusal = plan === undefined ? "Planning…" : (plan.refusals[0]?.detail ?? null);
  return {
    tools: plan?.unintercepted_tools ?? [],
    hasRunner,
    refusal: refusal ?? (hasRunner ? null : `No runner of ${app} is online.`),
  };
}
