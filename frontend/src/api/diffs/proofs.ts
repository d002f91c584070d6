import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import { consentPoll } from "@/api/replays/runners";
import type { ProofRequest, ProofView } from "@/api/schema";

/** A request without the fields that have defaults. */
export type SparseProof = { [Name in keyof ProofRequest]?: unknown };

const body = (request: SparseProof) => request as unknown as ProofRequest;
const withDiff = (diff: string) => ({ params: { path: { id: diff } } });

export function isUnderWay(proof: ProofView): boolean {
  return proof.status === "pending" || proof.status === "running";
}

/** Polling interval of an unfinished proof, in addition to socket messages. */
const POLL_MS = 800;

/** The proofs of a report, newest first. */
export const proofsQuery = (diff: string) =>
  queryOptions({
    queryKey: ["diff", diff, "proofs"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/diffs/{id}/proofs", { ...withDiff(diff), signal })),
    staleTime: 0,
    refetchInterval: (query) => (query.state.data?.proofs.some(isUnderWay) ? POLL_MS : false),
  });

/** Preview what a proof would do and cost, without running it. */
export const proofPlanQuery = (diff: string, request: SparseProof) =>
  queryOptions({
    queryKey: ["diff", diff, "proof plan", request],
    queryFn: ({ signal }) =>
      answer(api.POST("/api/v1/diffs/{id}/prove/preview", { ...withDiff(diff), body: body(request), signal })),
    placeholderData: keepPreviousData,
    gcTime: 60_000,
    refetchInterval: consentPoll,
    retry: false,
  });

/** Start a proof. A repeated click sends the same key and starts no second proof. */
export function prove(diff: string, request: SparseProof, key: string) {
  return answer(
    api.POST("/api/v1/diffs/{id}/prove", {
      ...withDiff(diff),
      body: body(request),
      headers: { "Idempotency-Key": key },
    }),
  );
}

export function cancelProof(id: string) {
  return answer(api.POST("/api/v1/proofs/{id}/cancel", { params: { path: { id } } }));
}
