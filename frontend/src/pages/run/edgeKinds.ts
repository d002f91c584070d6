// How it is known that one step fed another, in the words of the page.
import type { EdgeKind } from "@/api/schema";

export const edgeWords: Record<EdgeKind, string> = {
  tool_call_id: "by its call id",
  link: "by a link in the recording",
  history: "as history of the conversation",
  digest: "identical content",
  text: "contains its text",
  value: "a value from it (weak evidence)",
};
