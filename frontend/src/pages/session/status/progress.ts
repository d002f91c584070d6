/** What a replay session says about itself, in words and shares. */
import type { SessionView } from "@/api/schema";

/** A measure with its limit: `share` is null where there is no limit, and never over 1. */
export interface Gauge {
  label: string;
  value: number;
  limit: number | null;
  share: number | null;
}

export function gauge(label: string, value: number, limit: number | null): Gauge {
  if (limit === null) return { label, value, limit, share: null };
  return { label, value, limit, share: limit === 0 ? Number(value > 0) : Math.min(1, value / limit) };
}

/** Steps done of those planned, until it is done: another path than planned is longer or shorter, and still whole. */
export function progress(session: Pick<SessionView, "status" | "resolved_steps" | "planned_steps">): Gauge {
  if (session.status.startsWith("completed")) return gauge("Steps", session.resolved_steps, null);
  return gauge("Steps", session.resolved_steps, Math.max(session.planned_steps, session.resolved_steps));
}
