import { useQuery, useQueryClient } from "@tanstack/react-query";
import { experimentQuery } from "@/api/replays/experiments";
import { useLive } from "@/api/live";
import type { ExperimentView } from "@/api/schema";
import { applyMessage } from "../measures";

/** An experiment with live updates, starting at the sequence number of the response. */
export function useExperiment(id: string): {
  view: ExperimentView | undefined;
  error: Error | null;
  retry: () => void;
} {
  const client = useQueryClient();
  const query = experimentQuery(id);
  const { data, error, refetch } = useQuery(query);
  useLive(
    data ? { experiment: id } : null,
    (message) => client.setQueryData(query.queryKey, (current) => current && applyMessage(current, message)),
    data?.seq,
  );
  return { view: data, error, retry: () => void refetch() };
}
