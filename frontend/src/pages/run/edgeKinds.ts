// How it is known that one step fed another, in the words of the page.
import type { EdgeKind } from "@/api/schema";

export const edgeWords: Record<EdgeKind, string> = {
  tool_call_id: "same tool call id",
  link: "link in the recording",
  history: "conversation history",
  digest: "identical content",
  text: "contains its text",
  value: "contains a value from it (weak evidence)",
};
