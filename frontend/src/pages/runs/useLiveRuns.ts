import { useDebouncedCallback } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useLive, type ConnectionState } from "@/api/live";
import { firstPage, runsQuery, type RunsFilter } from "@/api/runs/runs";
import { mergeNewest } from "./listing";

/** Keeps the list current: a short list is read again, a long one gets its newest page merged in. */
export function useLiveRuns(filter: RunsFilter): ConnectionState {
  const client = useQueryClient();
  const refresh = useDebouncedCallback(
    async () => {
      void client.invalidateQueries({ queryKey: ["runs", "facets"] });
      const { queryKey } = runsQuery(filter);
      const data = client.getQueryData(queryKey);
      if (!data || data.pages.length <= 1) return client.invalidateQueries({ queryKey });
      const fresh = await firstPage(filter);
      client.setQueryData(queryKey, (current) => current && mergeNewest(current, fresh));
    },
    { delay: 300 },
  );
  return useLive({ runs: 1 }, () => refresh());
}
