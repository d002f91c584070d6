/** Format a score from 0 to 1 for a header. */
export function score(value: number): string {
  return value === 1 ? "1.00" : Math.min(value, 0.9999).toFixed(value > 0.99 ? 4 : 2);
}
