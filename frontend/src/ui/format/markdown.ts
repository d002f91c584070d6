const LINK = /!?\[([^\]]*)\]\([^()\s]*\)/g;
const BOLD = /\*\*(?=\S)(.+?\S)\*\*/g;
const CODE = /`([^`]+)`/g;
const HEADING = /^#{1,6} /;

/** The text of a preview without the marks of Markdown, which one line cannot render. */
export function withoutMarkdown(text: string): string {
  return text.replace(HEADING, "").replace(LINK, "$1").replace(BOLD, "$1").replace(CODE, "$1");
}
