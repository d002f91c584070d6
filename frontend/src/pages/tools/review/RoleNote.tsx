import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { accessQuery } from "@/api/access";

/** Why the decisions are disabled, where they are. */
export function RoleNote(): ReactElement | null {
  const { data: access } = useQuery(accessQuery);
  return access && access.role !== "admin" ? <span className="muted">Only admins can review tools.</span> : null;
}
