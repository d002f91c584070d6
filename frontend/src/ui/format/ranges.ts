/** Ranges to name; the rest is counted. */
const MOST_RANGES = 6;

/** Ascending numbers as few words: "1, 4, 7–9". */
export function numberRanges(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  const head = ranges.slice(0, MOST_RANGES);
  const restCount = ranges.slice(MOST_RANGES).reduce((total, [first, last]) => total + last - first + 1, 0);
  return [...head.map(rangeWords), ...(restCount > 0 ? [`${restCount} more`] : [])].join(", ");
}

function rangeWords([first, last]: [number, number]): string {
  if (first === last) return String(first);
  return last === first + 1 ? `${first}, ${last}` : `${first}–${last}`;
}
