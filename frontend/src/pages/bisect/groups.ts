// The replays of a bisection, with equal answers together. Pure.
import type { ProbeView } from "@/api/schema";

export interface ProbeGroup {
  key: string;
  first: ProbeView;
  probes: readonly ProbeView[];
}

/** Replays from one step with the same verdict and the same answer, in the order of the run. */
export function groupsOf(probes: readonly ProbeView[]): ProbeGroup[] {
  const groups = new Map<string, [ProbeView, ...ProbeView[]]>();
  for (const probe of probes) {
    const key = JSON.stringify([probe.fork.sequence_no, probe.changed, probe.verdict, probe.answer, probe.note]);
    const members = groups.get(key);
    if (members) members.push(probe);
    else groups.set(key, [probe]);
  }
  return [...groups]
    .map(([key, members]) => ({ key, first: members[0], probes: members }))
    .toSorted((a, b) => a.first.fork.sequence_no - b.first.fork.sequence_no || b.probes.length - a.probes.length);
}
