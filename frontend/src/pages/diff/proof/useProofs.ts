import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { diffQuery } from "@/api/diffs/diffs";
import { isUnderWay, proofsQuery } from "@/api/diffs/proofs";
import { useLive } from "@/api/live";
import type { Evidence, ProofView } from "@/api/schema";
import { useReport } from "../reportContext";

/** The proofs of a report: the one that runs, why the last one failed, and the findings of all others. */
export interface ProofState {
  running: ProofView | null;
  failure: string;
  evidence: readonly Evidence[];
}

export function useProofs(): ProofState {
  const { report } = useReport();
  const client = useQueryClient();
  const query = proofsQuery(report.id);
  const { data } = useQuery(query);
  useLive({ diff: report.id }, () => void client.invalidateQueries({ queryKey: query.queryKey }));
  const proofs = data?.proofs ?? [];
  useFreshReport(report.id, proofs);
  const [latest] = proofs;
  return {
    running: latest && isUnderWay(latest) ? latest : null,
    failure: latest?.status === "failed" ? latest.error : "",
    evidence: report.evidence,
  };
}

/** A finished proof attaches evidence to the report, so the report is refetched. */
function useFreshReport(diff: string, proofs: readonly ProofView[]): void {
  const client = useQueryClient();
  const proofCount = proofs.filter(({ evidence }) => evidence !== null).length;
  const evidenceCount = useReport().report.evidence.length;
  useEffect(() => {
    if (proofCount > evidenceCount) void client.invalidateQueries({ queryKey: diffQuery(diff).queryKey, exact: true });
  }, [client, diff, proofCount, evidenceCount]);
}
