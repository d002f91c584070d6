import { useQuery } from "@tanstack/react-query";
import { accessQuery } from "@/api/access";

/** Why the user may not start replays, or do something else: null if nothing is in the way, or not known yet. */
export function useRoleObstacle(action = "Replays need"): string | null {
  const { data: access } = useQuery(accessQuery);
  if (!access || access.role === "admin" || access.role === "debugger") return null;
  return `${action} the debugger role.`;
}
