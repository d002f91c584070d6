import { useQuery } from "@tanstack/react-query";
import { runnersQuery } from "@/api/replays/runners";
import type { RunnerView } from "@/api/schema";

/** The runners of an app that are online. Null: none are asked for; undefined: not known yet. */
export function useOnlineRunners(app: string | null): readonly RunnerView[] | undefined {
  const { data } = useQuery({ ...runnersQuery(app ?? ""), enabled: app !== null });
  return data?.runners.filter(({ state }) => state === "online");
}
