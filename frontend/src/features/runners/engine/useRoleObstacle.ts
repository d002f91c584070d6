import { useQuery } from "@tanstack/react-query";
import { accessQuery } from "@/api/access";

/** Why the user may not start replays: null if nothing is in the way, or not known yet. */
export function useRoleObstacle(): string | null {
  const { data: access } = useQuery(accessQuery);
  if (!access || access.role === "admin" || access.role === "debugger") return null;
  return "Replays need the debugger role.";
}
