/** Signed differences between two runs. They use a real minus sign so that figures align. */

const UNKNOWN = "unknown";

function signedDelta(value: number, text: string): string {
  return value === 0 ? "±0" : `${value > 0 ? "+" : "−"}${text}`;
}

export function tokenDelta(tokens: number | null): string {
  return tokens === null ? UNKNOWN : signedDelta(tokens, Math.abs(tokens).toLocaleString("en-US"));
}

export function costDelta(cost: number | null): string {
  if (cost === null) return UNKNOWN;
  const size = Math.abs(cost);
  return signedDelta(cost, `$${size >= 0.1 ? size.toFixed(2) : size.toPrecision(2).replace(/e.*/, "")}`);
}

export function durationDelta(ms: number | null): string {
  if (ms === null) return UNKNOWN;
  const size = Math.abs(ms);
  if (size < 1) return signedDelta(0, "");
  return signedDelta(ms, size < 1000 ? `${Math.round(size)} ms` : `${(size / 1000).toFixed(size < 10_000 ? 1 : 0)} s`);
}
