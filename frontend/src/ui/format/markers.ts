/** A piece of a text: characters as they were recorded, or a marker in place of a value. */
export type Piece = { text: string } | { kind: string; digest: string };

const MARKER = /\[redacted:([a-z0-9][a-z0-9-]{0,59}):([0-9a-f]{16})\]|\[dropped:([a-z0-9][a-z0-9-]{0,59})\]/g;
/** The whole text of a value that could not be checked. */
const FAILURE = "[redaction-failed]";
export const FAILURE_KIND = "redaction-failed";

/** Split a recorded text at its markers. */
export function splitMarkers(text: string): Piece[] {
  if (text === FAILURE) return [{ kind: FAILURE_KIND, digest: "" }];
  if (!text.includes("[redacted:") && !text.includes("[dropped:")) return [{ text }];
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(MARKER)) {
    if (match.index > end) pieces.push({ text: text.slice(end, match.index) });
    pieces.push({ kind: match[1] ?? match[3] ?? "", digest: match[2] ?? "" });
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end) });
  return pieces;
}

/** A text in one line of a list: markers without brackets and digest, also one that the line cuts off. */
export function shortenMarkers(text: string): string {
  if (!text.includes("[redacted:") && !text.includes("[dropped:")) return text;
  return text.replace(/\[(?:redacted|dropped):([a-z0-9-]{1,60})(?::[0-9a-f]{0,16})?(?:\]|(?=…)|$)/g, "‹$1›");
}
