import { useQueries } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { familyQuery, type RunsFilter } from "@/api/runs/runs";
import type { RunFamily, RunSummary } from "@/api/schema";
import { listRows, type ListRow, type OpenFamily } from "./listRows";

interface Families {
  rows: ListRow[];
  onToggle: (root: string) => void;
  /** Show the forks that the filters leave out, too. */
  onShowAll: (root: string) => void;
}

/** Few forks are shown at once, many after a click. What the user opened or closed stays so. */
export function useFamilies(
  runs: readonly RunSummary[],
  families: ReadonlyMap<string, RunFamily>,
  filter: RunsFilter,
): Families {
  const [choices, setChoices] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [complete, setComplete] = useState<ReadonlySet<string>>(new Set());
  const openFamilies = useMemo(
    () => [...families.values()].filter((family) => choices.get(family.root) ?? family.runs.length > 0),
    [families, choices],
  );
  // The page contains the forks of small families.
  const requests = openFamilies.filter(({ root, runs: forks }) => forks.length === 0 || complete.has(root));
  const forksByRoot = useQueries({
    queries: requests.map(({ root }) => familyQuery(root, complete.has(root) ? {} : filter)),
    combine: (answers) => new Map(requests.map(({ root }, index) => [root, answers[index]?.data?.runs ?? null])),
  });
  const rows = useMemo(() => {
    const open = openFamilies.map(({ root, runs: forks }): [string, OpenFamily] => [
      root,
      { forks: forksByRoot.has(root) ? (forksByRoot.get(root) ?? null) : forks, showsAll: complete.has(root) },
    ]);
    return listRows(runs, families, new Map(open));
  }, [runs, families, openFamilies, forksByRoot, complete]);
  const onToggle = useCallback(
    (root: string) =>
      setChoices((current) => {
        const isOpen = current.get(root) ?? (families.get(root)?.runs.length ?? 0) > 0;
        return new Map(current).set(root, !isOpen);
      }),
    [families],
  );
  const onShowAll = useCallback((root: string) => setComplete((current) => new Set(current).add(root)), []);
  return { rows, onToggle, onShowAll };
}
