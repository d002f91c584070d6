import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { judge, withdraw } from "@/api/runs/judgements";
import type { JudgementRequest } from "@/api/schema";

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
    onError: (error) =>
      notifications.show({ title: "The judgement was not saved", message: error.message, color: "red" }),
  });
  const remove = useMutation({
    mutationFn: (judgement: string) => withdraw(run, judgement),
    onSuccess: refresh,
    onError: (error) =>
      notifications.show({ title: "The judgement was not deleted", message: error.message, color: "red" }),
  });
  return { add, remove };
}
