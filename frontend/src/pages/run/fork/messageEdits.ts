// Edits of a model's recorded messages: replace, delete, insert.
import type { JsonValue, Match } from "@/api/schema";
import type { Draft, JsonObject, SparseOverride } from "@/domain/overrides/draft";
import { entryFor, setPart } from "./edits";

/** Replace the content of a recorded message. `undefined` removes the edit. */
export function editMessage(draft: Draft, match: Partial<Match>, index: number, content: JsonValue | undefined): Draft {
  const previous = entryFor(draft, match)?.messages ?? [];
  const otherEdits = previous.filter((edit) => edit.index !== index || edit.op === "insert");
  const edits = content === undefined ? otherEdits : [...otherEdits, { op: "replace" as const, index, content }];
  edits.sort((a, b) => a.index - b.index);
  return setPart(draft, match, "messages", edits.length > 0 ? edits : undefined);
}

export function deleteMessage(draft: Draft, match: Partial<Match>, index: number): Draft {
  const otherEdits = (entryFor(draft, match)?.messages ?? []).filter(
    (edit) => edit.index !== index || edit.op === "insert",
  );
  const edits = [...otherEdits, { op: "delete" as const, index }].sort((a, b) => a.index - b.index);
  return setPart(draft, match, "messages", edits);
}

/** An inserted message. `original` has its other fields, such as tool calls. */
export interface InsertedMessage {
  text: string;
  role: string;
  original?: JsonObject;
}

/** The messages inserted before a recorded message, or after the last, in list order. */
export function insertedMessages(edits: SparseOverride["messages"], index: number): InsertedMessage[] {
  const inserts = (edits ?? []).filter((edit) => edit.op === "insert" && edit.index === index);
  return inserts.map(({ content, role, message }) => {
    const text = textOf(message ? message["content"] : content);
    const recordedRole = message ? message["role"] : role;
    return {
      text,
      role: typeof recordedRole === "string" ? recordedRole : "user",
      ...(message && { original: message }),
    };
  });
}

function textOf(content: JsonValue | undefined): string {
  return typeof content === "string" ? content : JSON.stringify(content ?? null);
}

/** Replace all messages that are inserted before a recorded message. */
export function insertMessages(
  draft: Draft,
  match: Partial<Match>,
  index: number,
  messages: readonly InsertedMessage[],
): Draft {
  const previous = entryFor(draft, match)?.messages ?? [];
  const otherEdits = previous.filter((edit) => edit.index !== index || edit.op !== "insert");
  const inserts = messages.map(({ text, role, original }) =>
    original
      ? {
          op: "insert" as const,
          index,
          message: { ...original, role, content: originalUnlessEdited(original["content"], text) },
        }
      : { op: "insert" as const, index, role, content: text },
  );
  const edits = [...otherEdits, ...inserts].sort((a, b) => a.index - b.index);
  return setPart(draft, match, "messages", edits.length > 0 ? edits : undefined);
}

/** Structured content is preserved unless its text was edited. */
function originalUnlessEdited(content: JsonValue | undefined, text: string): JsonValue {
  return content !== undefined && textOf(content) === text ? content : text;
}
