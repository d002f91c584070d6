// Time filters. Presets stay relative in the address, so that a saved link keeps meaning "the last day".

export const presets = [
  { value: "1h", label: "1 hour" },
  { value: "24h", label: "1 day" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
] as const;

const unitMs: Record<string, number> = { h: 3_600_000, d: 86_400_000 };

/** A time of the address for the server. Relative times count back from `now`. */
export function toInstant(value: string, edge: "since" | "until", now: number = Date.now()): string | null {
  const relative = /^(\d+)([hd])$/.exec(value);
  if (relative) return new Date(now - Number(relative[1]) * (unitMs[relative[2] ?? "h"] ?? 0)).toISOString();
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value)) return null;
  const day = new Date(`${value}T00:00:00`);
  if (Number.isNaN(day.getTime())) return null;
  if (edge === "until") day.setDate(day.getDate() + 1);
  return day.toISOString();
}

/** The value of a date field. Empty for relative times. */
export function localDay(value: string | undefined): string {
  return value !== undefined && /^\d{4}-/.test(value) ? value.slice(0, 10) : "";
}

export function timeWords(start: string | undefined, end: string | undefined): string {
  const preset = presets.find(({ value }) => value === start);
  if (preset && !end) return `last ${preset.label}`;
  return [start && `from ${start}`, end && `until ${end}`].filter(Boolean).join(" ");
}
