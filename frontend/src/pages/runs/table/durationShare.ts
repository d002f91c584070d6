// A scale of durations that is the same on every page: from 10 ms to 1 hour, by logarithm.
const SHORTEST = 10;
const LONGEST = 3_600_000;

/** The length of the bar of a duration, from 0 to 1. */
export function durationShare(ms: number): number {
  const share = Math.log(Math.max(ms, SHORTEST) / SHORTEST) / Math.log(LONGEST / SHORTEST);
  return Math.min(1, Math.max(0.03, share));
}
