// Formatting of numbers. Null means unknown and is never shown as 0.

const UNKNOWN = "–";
const numberFormat = new Intl.NumberFormat("en-US");
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

export function count(value: number): string {
  return numberFormat.format(value);
}

/** "9,412", from 100,000 on "412K". */
export function tokens(value: number | null): string {
  if (value === null) return UNKNOWN;
  return Math.abs(value) < 100_000 ? numberFormat.format(value) : compact.format(value);
}

/** All tokens of a run. It counts those of the steps that recorded them, so none means unknown. */
export function totalTokens(run: { tokens_in: number; tokens_out: number }): string {
  return tokens(run.tokens_in + run.tokens_out || null);
}

/** Dollars with significant digits: "$12.40", "$0.031", "<$0.0001". */
export function money(value: number | null): string {
  if (value === null) return UNKNOWN;
  const size = Math.abs(value);
  const sign = value < 0 ? "−" : "";
  if (size === 0) return "$0.00";
  if (size < 0.0001) return `${sign}<$0.0001`;
  if (size >= 1)
    return `${sign}$${size.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  const digits = String(Number(size.toPrecision(2)));
  return `${sign}$${digits.length < 4 ? size.toFixed(2) : digits}`;
}

/** "0 ms", "41 ms", "1.2 s", "48 s", "2 m 05 s", "3 h 12 m". */
export function duration(ms: number | null): string {
  if (ms === null) return UNKNOWN;
  if (ms < 1) return ms === 0 ? "0 ms" : "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const roundedSeconds = Math.round(seconds);
  if (roundedSeconds < 60) return `${roundedSeconds} s`;
  const minutes = Math.floor(roundedSeconds / 60);
  if (minutes < 60) return `${minutes} m ${String(roundedSeconds % 60).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} m`;
}

export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 ** 2) return `${(size / 1024).toFixed(size < 10_240 ? 1 : 0)} kB`;
  return `${(size / 1024 ** 2).toFixed(1)} MB`;
}

/** "1 step", "3 steps", "1 entry". `plural` if it does not end in s. */
export function pluralize(value: number, singular: string, plural = `${singular}s`): string {
  return `${numberFormat.format(value)} ${value === 1 ? singular : plural}`;
}

const units: [string, number][] = [
  ["s", 60],
  ["min", 60],
  ["h", 24],
];

/** "just now", "4 min ago", "in 2 h"; after a day "yesterday", then the date. */
export function timeAgo(iso: string | null, now: number = Date.now()): string {
  if (iso === null) return UNKNOWN;
  let value = (now - Date.parse(iso)) / 1000;
  for (const [unit, size] of units) {
    const amount = Math.round(Math.abs(value));
    if (unit === "s" && amount < 5) return "just now";
    if (amount < size) return value < 0 ? `in ${amount} ${unit}` : `${amount} ${unit} ago`;
    value /= size;
  }
  return dayTitle(iso, now) === "Yesterday" ? "yesterday" : day(iso);
}

function day(iso: string): string {
  return new Date(iso).toLocaleDateString("en", { year: "numeric", month: "short", day: "numeric" });
}

/** "Today", "Yesterday", "Tue, Nov 24", and with the year if that is another: a day where the reader is. */
export function dayTitle(iso: string, now: number = Date.now()): string {
  const [date, today] = [new Date(iso), new Date(now)];
  const yesterday = new Date(now);
  yesterday.setDate(today.getDate() - 1);
  if (date.toDateString() === today.toDateString()) return "Today";
  if (date.toDateString() === yesterday.toDateString()) return "Yesterday";
  const year = date.getFullYear() === today.getFullYear() ? {} : { year: "numeric" as const };
  return date.toLocaleDateString("en", { weekday: "short", month: "short", day: "numeric", ...year });
}

/** "14:05", beside a day. */
export function timeOfDay(iso: string): string {
  return new Date(iso).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

/** The full date and time, for tooltips and details. */
export function fullTime(iso: string | null): string {
  if (iso === null) return UNKNOWN;
  return new Date(iso).toLocaleString("en", { dateStyle: "medium", timeStyle: "long" });
}

export function shortId(id: string): string {
  return id.length > 14 ? `${id.slice(0, 6)}…${id.slice(-4)}` : id;
}
