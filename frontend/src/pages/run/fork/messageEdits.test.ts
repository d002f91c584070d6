import { expect, test } from "vitest";
import { emptyDraft } from "@/domain/overrides/draft";
import { describeSettings } from "@/domain/overrides/wording";
import { deleteMessage, editMessage, insertedMessages, insertMessages } from "./messageEdits";

const match = { step: 5 };

test("a message has at most one edit", () => {
  const draft = deleteMessage(editMessage(editMessage(emptyDraft, match, 2, "a"), match, 2, "b"), match, 1);
  expect(draft.overrides[0]?.messages).toEqual([
    { op: "delete", index: 1 },
    { op: "replace", index: 2, content: "b" },
  ]);
  expect(editMessage(editMessage(emptyDraft, match, 2, "a"), match, 2, undefined).overrides).toEqual([]);
});

test("keeps insertions beside another edit", () => {
  const draft = editMessage(emptyDraft, match, 2, "Shorter");
  const added = insertMessages(draft, match, 2, [{ text: "By the way", role: "user" }]);
  expect(added.overrides[0]?.messages).toHaveLength(2);
  expect(insertedMessages(added.overrides[0]?.messages, 2)).toEqual([{ text: "By the way", role: "user" }]);
  expect(insertMessages(added, match, 2, [])).toEqual(draft);
});

test("describes every message edit", () => {
  const draft = insertMessages(deleteMessage(emptyDraft, match, 3), match, 5, [{ text: "Hi", role: "system" }]);
  expect(draft.overrides.map(describeSettings)).toEqual(["message 4 removed, new system message: “Hi”"]);
});

test("keeps unedited inserted messages", () => {
  const call = { role: "assistant", content: null, tool_calls: [{ id: "c1", name: "pay", arguments: {} }] };
  const messages = [{ op: "insert" as const, index: 2, message: call }];
  const draft = { overrides: [{ match: match, messages }], policy: {} };
  const [insertedMessage] = insertedMessages(messages, 2);
  expect(insertedMessage).toEqual({ text: "null", role: "assistant", original: call });
  const same = insertMessages(draft, match, 2, insertedMessage ? [insertedMessage] : []);
  expect(same.overrides[0]?.messages).toEqual(messages);
});
