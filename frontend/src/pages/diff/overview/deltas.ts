/** Signed differences between two runs. They use a real minus sign so that figures align. */

type Direction = "better" | "worse" | "none";

export interface Delta {
  text: string;
  direction: Direction;
}

const UNKNOWN: Delta = { text: "unknown", direction: "none" };

function signedDelta(value: number, text: string): Delta {
  if (value === 0) return { text: "±0", direction: "none" };
  return { text: `${value > 0 ? "+" : "−"}${text}`, direction: value > 0 ? "worse" : "better" };
}

export function tokenDelta(tokens: number | null): Delta {
  return tokens === null ? UNKNOWN : signedDelta(tokens, Math.abs(tokens).toLocaleString("en-US"));
}

export function costDelta(cost: number | null): Delta {
  if (cost === null) return UNKNOWN;
  const size = Math.abs(cost);
  return signedDelta(cost, `$${size >= 0.1 ? size.toFixed(2) : size.toPrecision(2).replace(/e.*/, "")}`);
}

export function durationDelta(ms: number | null): Delta {
  if (ms === null) return UNKNOWN;
  const size = Math.abs(ms);
  if (size < 1) return signedDelta(0, "");
  return signedDelta(ms, size < 1000 ? `${Math.round(size)} ms` : `${(size / 1000).toFixed(size < 10_000 ? 1 : 0)} s`);
}

export function stepDelta(steps: number): Delta {
  return { ...signedDelta(steps, String(Math.abs(steps))), direction: "none" };
}
