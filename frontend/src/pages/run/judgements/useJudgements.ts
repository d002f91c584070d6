import { useMutation, useQueryClient } from "@tanstack/react-query";
import { judge, withdraw } from "@/api/runs/judgements";
import type { JudgementRequest } from "@/api/schema";
import { showFailure } from "@/ui/failure/failure";

/** Add and delete judgements of a run, and refetch its outcome. */
export function useJudgements(run: string) {
  const client = useQueryClient();
  const refresh = () =>
    Promise.all([
      // Addresses may contain another id of the run.
      client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] === "run" && queryKey.length === 2 }),
      client.invalidateQueries({ queryKey: ["run", run, "judgements"] }),
      client.invalidateQueries({ queryKey: ["runs"] }),
    ]);
  const add = useMutation({
    mutationFn: (body: JudgementRequest) => judge(run, body),
    onSuccess: refresh,
    onError: (error) => showFailure("The judgement was not saved", error),
  });
  const remove = useMutation({
    mutationFn: (judgement: string) => withdraw(run, judgement),
    onSuccess: refresh,
    onError: (error) => showFailure("The judgement was not deleted", error),
  });
  return { add, remove };
}
