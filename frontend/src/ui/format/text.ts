export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Format a remark of the server as a sentence. */
export function sentence(text: string): string {
  const start = capitalize(text);
  return /[.!?]$/.test(start) ? start : `${start}.`;
}

/** The first `limit` characters, slightly more if that is all, never splitting a surrogate pair. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit * 1.2) return text;
  const high = text.charCodeAt(limit - 1);
  return text.slice(0, high >= 0xd800 && high <= 0xdbff ? limit - 1 : limit);
}
