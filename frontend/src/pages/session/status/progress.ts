/** The progress and budget of a replay session. */
import type { SessionView } from "@/api/schema";

/** A measure with its limit. `share` is at most 1, and null without a limit. */
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

/** Finished steps of those planned. 100 % once the replay is finished, even if it took another path. */
export function progress(session: Pick<SessionView, "status" | "resolved_steps" | "planned_steps">): Gauge {
  if (session.status.startsWith("completed")) return gauge("Steps", session.resolved_steps, null);
  return gauge("Steps", session.resolved_steps, Math.max(session.planned_steps, session.resolved_steps));
}
