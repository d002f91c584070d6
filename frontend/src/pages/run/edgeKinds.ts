// Descriptions of how a provenance edge is known.
import type { EdgeKind } from "@/api/schema";

export const edgeWords: Record<EdgeKind, string> = {
  tool_call_id: "same tool call id",
  link: "link in the recording",
  history: "conversation history",
  digest: "identical content",
  text: "contains its text",
  value: "contains a value from it (weak evidence)",
};
