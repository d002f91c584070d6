// What a recorded text may link to.

const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "mailto:"]);

/** The address of a link that may be opened; null for scripts, data, files, and addresses relative to this site. */
export function safeAddress(href: string): string | null {
  try {
    const url = new URL(href);
    return SCHEMES.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

const NAMES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** Replace the character references that Markdown knows, such as `&lt;` and `&#39;`; unknown ones stay. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,4}));/g, (reference, decimal, hex, name) => {
    if (typeof name === "string") return NAMES[name] ?? reference;
    const code = typeof decimal === "string" ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : reference;
  });
}
