// The time scale of a timeline. All times are milliseconds since the run started.

export interface TimeRange {
  start: number;
  end: number;
}

export interface Tick {
  time: number;
  label: string;
}

/** Steps of a scale in milliseconds below a minute; each decade repeats them. */
const DECIMAL_STEPS = [1, 2, 5];
/** From a minute on, scales count in seconds, minutes, hours and days. */
const CLOCK_STEPS = [
  1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000,
  7_200_000, 14_400_000, 21_600_000, 43_200_000, 86_400_000,
];
const MINUTE = 60_000;
const DAY = 86_400_000;
/** The shortest range that one can zoom to: a hundred-thousandth of the run, but no less than ten microseconds. */
const MAX_ZOOM = 100_000;
const SHORTEST = 0.01;

export const spanOf = ({ start, end }: TimeRange): number => end - start;

/** The ticks inside a range, at most `limit` of them, at round times. */
export function ticksOf(range: TimeRange, limit: number): Tick[] {
  const span = spanOf(range);
  if (span <= 0 || limit < 1) return [];
  const step = stepFor(span / limit, range.end);
  const first = Math.ceil(range.start / step - 1e-9);
  const last = Math.floor(range.end / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const time = (first + index) * step;
    return { time, label: timeLabel(time, step, range.end) };
  });
}

/** The smallest round step that is no shorter than `shortest`. */
function stepFor(shortest: number, end: number): number {
  if (end >= MINUTE && shortest > 500) {
    return CLOCK_STEPS.find((step) => step >= shortest) ?? Math.ceil(shortest / DAY) * DAY;
  }
  const decade = 10 ** Math.floor(Math.log10(shortest));
  return (DECIMAL_STEPS.find((step) => step * decade >= shortest - 1e-9) ?? 10) * decade;
}

/** A time of a scale that ends at `end`, with as many decimals as its steps need: "115 ms", "1.25 s", "2:05". */
function timeLabel(time: number, step: number, end: number): string {
  if (end < 1_000) return `${format(time, step)} ms`;
  if (end < MINUTE) return `${format(time / 1_000, step / 1_000)} s`;
  const sign = time < 0 ? "−" : "";
  const seconds = Math.abs(time) / 1_000;
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const rest = format(seconds % 60, step / 1_000).padStart(step < 1_000 ? 3 + decimals(step / 1_000) : 2, "0");
  return hours > 0 ? `${sign}${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${sign}${minutes}:${rest}`;
}

const decimals = (step: number): number => Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)));
const format = (value: number, step: number): string => value.toFixed(decimals(step));

/** A range in words: "110–139 ms", "1.2–1.4 s". */
export function rangeLabel(range: TimeRange): string {
  const step = 10 ** Math.floor(Math.log10(Math.max(spanOf(range), 1e-6) / 20));
  const [start, end] = [range.start, range.end].map((time) => timeLabel(time, step, range.end));
  const unit = / m?s$/.exec(end ?? "")?.[0] ?? "";
  return `${start?.slice(0, start.length - unit.length)}–${end}`;
}

/** A range of the same length moved into the whole, or the whole if it is longer. */
export function clamp(range: TimeRange, whole: TimeRange): TimeRange {
  const span = spanOf(range);
  if (span >= spanOf(whole)) return whole;
  const start = Math.max(whole.start, Math.min(whole.end - span, range.start));
  return { start, end: start + span };
}

/** A range `factor` times as long, in which the time `anchor` keeps its place. */
export function zoom(range: TimeRange, factor: number, anchor: number, whole: TimeRange): TimeRange {
  const span = limitSpan(spanOf(range) * factor, whole);
  const share = spanOf(range) > 0 ? (anchor - range.start) / spanOf(range) : 0.5;
  const start = anchor - share * span;
  return clamp({ start, end: start + span }, whole);
}

/** A range moved by a share of its length. */
export function pan(range: TimeRange, share: number, whole: TimeRange): TimeRange {
  const offset = spanOf(range) * share;
  return clamp({ start: range.start + offset, end: range.end + offset }, whole);
}

/** The range between two times in any order, widened if it is shorter than one can zoom to. */
export function rangeBetween(first: number, second: number, whole: TimeRange): TimeRange {
  const middle = (first + second) / 2;
  const span = limitSpan(Math.abs(second - first), whole);
  return clamp({ start: middle - span / 2, end: middle + span / 2 }, whole);
}

function limitSpan(span: number, whole: TimeRange): number {
  const shortest = Math.min(spanOf(whole), Math.max(SHORTEST, spanOf(whole) / MAX_ZOOM));
  return Math.max(shortest, Math.min(spanOf(whole), span));
}
