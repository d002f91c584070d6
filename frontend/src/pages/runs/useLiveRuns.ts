import { useDebouncedCallback } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useLive, type ConnectionState } from "@/api/live";
import { firstPage, runsQuery, type RunsFilter } from "@/api/runs/runs";
import { mergeNewest } from "./listing";

/** Keep the list current: refetch a short list, merge the newest page into a long one. */
export function useLiveRuns(filter: RunsFilter): ConnectionState {
  const client = useQueryClient();
  const refresh = useDebouncedCallback(
    async () => {
      void client.invalidateQueries({ queryKey: ["runs", "facets"] });
      void client.invalidateQueries({ queryKey: ["runs", "family"] });
      const { queryKey } = runsQuery(filter);
      const data = client.getQueryData(queryKey);
      // In another order, new runs may belong on any page.
      if (!data || data.pages.length <= 1 || filter["sort"]) return client.invalidateQueries({ queryKey });
      const fresh = await firstPage(filter);
      client.setQueryData(queryKey, (current) => current && mergeNewest(current, fresh));
    },
    { delay: 300 },
  );
  return useLive({ runs: 1 }, () => refresh());
}
