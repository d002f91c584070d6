/** The text size that the reader has set in the browser, as a multiple of its default. */
export const TEXT_SIZE = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;
// For what style sheets cannot convert to `rem`.
if (TEXT_SIZE !== 1) document.documentElement.style.setProperty("--text-size", String(TEXT_SIZE));

/** A length in pixels that grows with the text, for layouts that scripts compute. */
export const withText = (pixels: number): number => pixels * TEXT_SIZE;
