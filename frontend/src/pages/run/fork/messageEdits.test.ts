import { expect, test } from "vitest";
import { emptyDraft } from "@/domain/overrides/draft";
import { describeSettings } from "@/domain/overrides/wording";
import { deleteMessage, editMessage, insertedMessages, insertMessages } from "./messageEdits";

const one = { step: 5 };

test("a message has one edit at most", () => {
  const draft = deleteMessage(editMessage(editMessage(emptyDraft, one, 2, "a"), one, 2, "b"), one, 1);
  expect(draft.overrides[0]?.messages).toEqual([
    { op: "delete", index: 1 },
    { op: "replace", index: 2, content: "b" },
  ]);
  expect(editMessage(editMessage(emptyDraft, one, 2, "a"), one, 2, undefined).overrides).toEqual([]);
});

test("messages are put in beside the edit of the message after them", () => {
  const reworded = editMessage(emptyDraft, one, 2, "Shorter");
  const added = insertMessages(reworded, one, 2, [{ text: "By the way", role: "user" }]);
  expect(added.overrides[0]?.messages).toHaveLength(2);
  expect(insertedMessages(added.overrides[0]?.messages, 2)).toEqual([{ text: "By the way", role: "user" }]);
  expect(insertMessages(added, one, 2, [])).toEqual(reworded);
});

test("each message edit is a phrase of its chip", () => {
  const edited = insertMessages(deleteMessage(emptyDraft, one, 3), one, 5, [{ text: "Hi", role: "system" }]);
  expect(edited.overrides.map(describeSettings)).toEqual(["message 4 removed, new system message: “Hi”"]);
});

test("an unedited inserted message stays as the server wrote it", () => {
  const call = { role: "assistant", content: null, tool_calls: [{ id: "c1", name: "pay", arguments: {} }] };
  const messages = [{ op: "insert" as const, index: 2, message: call }];
  const draft = { overrides: [{ match: one, messages }], policy: {} };
  const [inserted] = insertedMessages(messages, 2);
  expect(inserted).toEqual({ text: "null", role: "assistant", original: call });
  const same = insertMessages(draft, one, 2, inserted ? [inserted] : []);
  expect(same.overrides[0]?.messages).toEqual(messages);
});
