import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { proofsQuery, prove, type SparseProof } from "@/api/diffs/proofs";
import { showFailure } from "@/ui/failure/failure";

/** Start a proof of a report and refetch its proofs. */
export function useProof(diff: string, request: SparseProof, onStart?: () => void) {
  const client = useQueryClient();
  const lastRequest = useRef({ text: "", key: "" });
  return useMutation({
    mutationFn: () => {
      // One key per request body: a second click or a retry after a lost response returns the same proof.
      const text = JSON.stringify(request);
      if (lastRequest.current.text !== text) lastRequest.current = { text, key: crypto.randomUUID() };
      return prove(diff, request, lastRequest.current.key);
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: proofsQuery(diff).queryKey });
      onStart?.();
    },
    onError: (error) => showFailure("The proof did not start", error),
  });
}
