import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { treeQuery } from "@/api/runs/forkTree";
import { familyQuery, runQuery, runsQuery } from "@/api/runs/runs";
import type { RunSummary } from "@/api/schema";
import { groupRuns, type OtherSide, type RunGroup } from "./runGroups";

interface RunGroups {
  /** Undefined until the first list has arrived. */
  groups: RunGroup[] | undefined;
  error: Error | null;
  refetch: () => void;
}

/** The newest runs that match a search, and more of them from the family and the app of the run on the other side. */
export function useRunGroups(words: string, otherId: string | undefined): RunGroups {
  const search = words ? { q: words } : {};
  const hasOther = otherId !== undefined;
  const all = useInfiniteQuery(runsQuery(search));
  const { data: otherSide } = useQuery({ ...runQuery(otherId ?? ""), enabled: hasOther });
  const { data: tree } = useQuery({ ...treeQuery(otherId ?? ""), enabled: hasOther });
  const app = otherSide?.app ?? "";
  const sameApp = useInfiniteQuery({ ...runsQuery({ ...search, app }), enabled: app !== "" });
  const forks = useQuery({ ...familyQuery(tree?.root ?? "", search), enabled: tree !== undefined });
  const { data: root } = useQuery({ ...runQuery(tree?.root ?? ""), enabled: tree !== undefined });
  const isLoading = all.data === undefined || (hasOther && otherSide === undefined);
  const runs = [
    // A search finds the recorded run, if it matches, among the strangers.
    ...(root && !words ? [root] : []),
    ...(forks.data?.runs ?? []),
    ...((app && sameApp.data?.pages[0]?.runs) || []),
    ...(all.data?.pages[0]?.runs ?? []),
  ];
  const side: OtherSide | null = otherSide
    ? { run: otherSide, family: new Set(tree?.runs.map(({ id }) => id) ?? [otherSide.id]) }
    : null;
  return {
    groups: isLoading ? undefined : groupRuns(unique(runs), side),
    error: all.error,
    refetch: () => void all.refetch(),
  };
}

function unique(runs: readonly RunSummary[]): RunSummary[] {
  return [...new Map(runs.map((run) => [run.id, run])).values()];
}
