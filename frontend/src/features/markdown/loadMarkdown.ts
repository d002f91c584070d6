import { loadPart } from "@/api/connection/loadPart";

/** Requests the code that shows Markdown, unless it is there. */
export const loadMarkdown = () => loadPart(() => import("@/ui/markdown/Markdown"));
